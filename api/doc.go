// Package api is what client, coordinator and server say to each other: HTTP
// with JSON over a unix socket, under /v1/. Requests go in through Client;
// package server answers them. Who is asking, the server learns from the kernel,
// not from the request.
package api
