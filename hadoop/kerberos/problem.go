package kerberos

import "errors"

// What can be wrong.
var (
	ErrNoTicket  = errors.New("no kerberos ticket")
	ErrExpired   = errors.New("the kerberos ticket has expired")
	ErrSkew      = errors.New("the clocks differ")
	ErrPrincipal = errors.New("the principal is not as it should be")
	ErrService   = errors.New("the service principal is not as it should be")
	ErrEtype     = errors.New("no encryption type in common")
	ErrKDC       = errors.New("no KDC answers")
	ErrKeytab    = errors.New("the keytab cannot be used")
	ErrCache     = errors.New("the ticket cache cannot be used")
	ErrConfig    = errors.New("krb5.conf cannot be used")
)
