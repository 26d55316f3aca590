package conf

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"sync"
)

// sensitive are the keys whose values are secrets, by Hadoop's own list.
var sensitive = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(secret|password|passwd|credential|oauth.*(secret|password|token))$|ssl\.keystore\.pass$|fs\.s3.*secret.?key|fs\.azure.*account\.key|account\.key`)
})

// Sensitive tells whether a key's value is a secret.
func Sensitive(key string) bool { return sensitive().MatchString(key) }

// XML writes one site file with the properties that keep accepts, or all when
// it is nil, their variables filled in: another machine has another environment.
// Secrets (see Sensitive) are left out whatever keep says. Equal configurations
// give equal bytes.
func (c *Conf) XML(keep func(key string) bool) []byte {
	var b bytes.Buffer
	b.WriteString("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration>\n")
	for _, key := range c.Keys() {
		if Sensitive(key) || keep != nil && !keep(key) {
			continue
		}
		value, _ := c.Get(key)
		b.WriteString("  <property><name>")
		escape(&b, key)
		b.WriteString("</name><value>")
		escape(&b, value)
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.Bytes()
}

func escape(b *bytes.Buffer, s string) {
	_ = xml.EscapeText(b, []byte(s)) // a buffer takes everything
}
