package yarn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muster-project/muster/hadoop/pb/yarnpb"
	"github.com/muster-project/muster/hadoop/rpc"
)

// What a server may refuse with, by Java class: errors.Is(err, yarn.NoSuchApplication).
const (
	NotRegistered      rpc.Exception = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
	NoSuchAttempt      rpc.Exception = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	NoSuchApplication  rpc.Exception = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	NoSuchContainer    rpc.Exception = "org.apache.hadoop.yarn.exceptions.ContainerNotFoundException"
	InvalidMaster      rpc.Exception = "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
	InvalidRequest     rpc.Exception = "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException"
	InvalidLabel       rpc.Exception = "org.apache.hadoop.yarn.exceptions.InvalidLabelResourceRequestException"
	InvalidRelease     rpc.Exception = "org.apache.hadoop.yarn.exceptions.InvalidContainerReleaseException"
	InvalidBlacklist   rpc.Exception = "org.apache.hadoop.yarn.exceptions.InvalidResourceBlacklistRequestException"
	InvalidContainer   rpc.Exception = "org.apache.hadoop.yarn.exceptions.InvalidContainerException"
	NodeNotReady       rpc.Exception = "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException"
	UnknownResource    rpc.Exception = "org.apache.hadoop.yarn.exceptions.ResourceNotFoundException"
	ServiceUnavailable rpc.Exception = "org.apache.hadoop.yarn.exceptions.YARNFeatureNotEnabledException"
	Failure            rpc.Exception = "org.apache.hadoop.yarn.exceptions.YarnException" // said of most other things
	Denied             rpc.Exception = "org.apache.hadoop.security.AccessControlException"
	InvalidToken       rpc.Exception = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
)

// What a master must act on whatever it was doing.
const (
	// ErrResync: the ResourceManager restarted and forgot this master. Register
	// again, then send all outstanding asks, releases and the blacklist anew.
	ErrResync = NotRegistered
	// ErrGone: the ResourceManager gave this attempt up. End at once and leave
	// the containers alone: they may belong to the next attempt.
	ErrGone = NoSuchAttempt
)

// gone gives the refusal of a secure ResourceManager the form of ErrGone: it drops
// an attempt's token together with the attempt, and so never comes to say that it
// has given that up. One that restarts has all tokens before it answers anybody.
func gone(err error) error {
	if errors.Is(err, InvalidToken) && strings.Contains(message(err), "not found in AMRMTokenSecretManager") {
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// failure gives one container's own failure the form of any other refusal.
func failure(x *yarnpb.SerializedException) error {
	message := x.GetMessage()
	if message == "" {
		message, _, _ = strings.Cut(x.GetTrace(), "\n")
	}
	return &rpc.RemoteError{Class: x.GetClassName(), Message: message}
}

// message is what the server said, without the class and the stack behind it.
func message(err error) string {
	if r, ok := errors.AsType[*rpc.RemoteError](err); ok {
		return r.Message
	}
	return ""
}

// answered tells that a server decided: repeating would not help.
func answered(err error) bool {
	_, ok := errors.AsType[*rpc.RemoteError](err)
	return ok && !errors.Is(err, rpc.Standby) && !errors.Is(err, rpc.Retriable)
}
