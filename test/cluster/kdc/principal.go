package kdc

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Add makes principals with random keys, and adds these to their keytabs. One
// call for many is quicker: a program's start costs more than a principal.
func (k *KDC) Add(ctx context.Context, principals ...string) error {
	var lines []string
	for _, p := range principals {
		lines = append(lines, "addprinc -clearpolicy -randkey "+p, "ktadd -norandkey -k "+k.Keytab(p)+" "+p)
	}
	return k.Admin(ctx, lines...)
}

// Admin runs lines of kadmin.local, such as "modprinc -expire 2020-01-01 alice".
func (k *KDC) Admin(ctx context.Context, lines ...string) error {
	out, err := k.run(ctx, strings.Join(lines, "\n")+"\n", "kadmin.local", "-r", Realm)
	if err != nil {
		return err
	}
	// Its exit status says nothing about the lines that it reads.
	var bad []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, " while ") || strings.Contains(line, "usage:") || strings.Contains(line, "Unknown request") || strings.Contains(line, "does not exist") {
			bad = append(bad, strings.TrimSpace(line))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("kadmin.local: %s", strings.Join(bad, "; "))
	}
	return nil
}

// Ticket fetches a ticket of a principal from the running server by its keytab,
// and makes cache a ticket cache that has only that. lifetime 0 is a day.
func (k *KDC) Ticket(ctx context.Context, principal, cache string, lifetime time.Duration) error {
	args := []string{"-k", "-t", k.Keytab(principal), "-c", "FILE:" + cache}
	if lifetime > 0 {
		args = append(args, "-l", fmt.Sprintf("%ds", int(lifetime.Round(time.Second).Seconds())))
	}
	_, err := k.run(ctx, "", "kinit", append(args, principal)...)
	return err
}
