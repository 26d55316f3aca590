package rpc

import (
	"fmt"
	"strings"

	"github.com/muster-project/muster/hadoop/pb/ipcpb"
)

// Exception is a Java class name, the identity of a RemoteError:
//
//	errors.Is(err, rpc.Standby)
//
// Subclasses have names of their own and do not match.
type Exception string

// Exceptions of the RPC layer itself; those of YARN and HDFS are with their
// protocols.
const (
	Standby          Exception = "org.apache.hadoop.ipc.StandbyException"
	Retriable        Exception = "org.apache.hadoop.ipc.RetriableException"
	ObserverRetry    Exception = "org.apache.hadoop.ipc.ObserverRetryOnActiveException"
	NoSuchMethod     Exception = "org.apache.hadoop.ipc.RpcNoSuchMethodException"
	NoSuchProtocol   Exception = "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
	VersionMismatch  Exception = "org.apache.hadoop.ipc.RPC$VersionMismatch"
	ServerFault      Exception = "org.apache.hadoop.ipc.RpcServerException"
	AccessControl    Exception = "org.apache.hadoop.security.AccessControlException"
	Authorization    Exception = "org.apache.hadoop.security.authorize.AuthorizationException"
	InvalidToken     Exception = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	SaslFailed       Exception = "javax.security.sasl.SaslException"
	IOException      Exception = "java.io.IOException"
	RuntimeException Exception = "java.lang.RuntimeException"
	IllegalArgument  Exception = "java.lang.IllegalArgumentException"
)

// Error gives the class name without its package.
func (e Exception) Error() string {
	return string(e[strings.LastIndexByte(string(e), '.')+1:])
}

// RemoteError is an exception that a server reported.
type RemoteError struct {
	Class   string // Java class name
	Message string // the exception's own message, without the stack trace
	Address string // who reported it
	Detail  int32  // RpcErrorCodeProto: 1 application, 2 no such method, …; 10 to 15 are fatal
	Fatal   bool   // the server closed the connection
}

// Error gives the class without its package, and the message; Client's errors
// name method and address in front of it.
func (e *RemoteError) Error() string {
	text := Exception(e.Class).Error()
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is makes errors.Is(err, Exception("…")) hold for the class.
func (e *RemoteError) Is(target error) bool {
	x, ok := target.(Exception)
	return ok && string(x) == e.Class
}

// maxMessage bounds what is kept of a server's words.
const maxMessage = 4 << 10

// remote is the error that a response header tells of, or nil.
func remote(h *ipcpb.RpcResponseHeader, address string) error {
	if h.GetStatus() == ipcpb.RpcResponseHeader_SUCCESS {
		return nil
	}
	return &RemoteError{
		Class:   h.GetExceptionClass(),
		Message: message(h.GetExceptionClass(), h.GetErrorMsg()),
		Address: address,
		Detail:  h.GetErrorDetail(),
		Fatal:   h.GetStatus() == ipcpb.RpcResponseHeader_FATAL,
	}
}

// message takes the exception's message out of what servers send: a whole Java
// stack trace that begins with "class: message".
func message(class, trace string) string {
	var lines []string
	size := 0
	for line := range strings.Lines(trace) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "\tat ") || strings.HasPrefix(line, "Caused by: ") || size > maxMessage {
			break
		}
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
			size += len(line)
		}
	}
	text := strings.Join(lines, " ")
	if rest, ok := strings.CutPrefix(text, class); ok && class != "" && (rest == "" || rest[0] == ':') {
		text = strings.TrimSpace(strings.TrimPrefix(rest, ":"))
	}
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + " …"
	}
	return text
}

// protocolError says that a server does not speak as it should.
func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrProtocol, fmt.Errorf(format, args...))
}
