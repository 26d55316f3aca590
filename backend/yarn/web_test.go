package yarn

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-project/muster/hadoop/conf"
	"github.com/muster-project/muster/hadoop/login"
)

// askHTTPS makes this test binary a client of the web service at an address: a
// process reads its roots once.
const askHTTPS = "MUSTER_TEST_HTTPS"

// Where the site files say so the web service is called by HTTPS, and trusted by
// the roots that SSL_CERT_FILE names.
func TestWebServiceByHTTPS(t *testing.T) {
	if address := os.Getenv(askHTTPS); address != "" {
		c := conf.New(map[string]string{"yarn.http.policy": "HTTPS_ONLY", "yarn.resourcemanager.webapp.https.address": address})
		who, err := login.New(c, login.Options{User: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		web, err := openREST(c, who)
		if err != nil {
			t.Fatal(err)
		}
		info, err := web.Info(t.Context())
		t.Log("answer:", info.Version, err, web.Close())
		return
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"clusterInfo":{"state":"STARTED","hadoopVersion":"3.5.0"}}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ roots, want string }{
		{file, "answer: 3.5.0 <nil> <nil>"},
		{"/dev/null", "certificate signed by unknown authority"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestWebServiceByHTTPS$")
		cmd.Env = append(os.Environ(), askHTTPS+"="+server.Listener.Addr().String(), "SSL_CERT_FILE="+c.roots, "SSL_CERT_DIR=/nowhere")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("with roots of %s: %v, %s; want %q", c.roots, err, out, c.want)
		}
	}
}
