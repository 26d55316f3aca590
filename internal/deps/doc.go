// Package deps holds the test of who may import whom. The source tree comes in;
// every import that breaks a rule of the house comes out, with the reason of
// the rule. There is no code here beside the test.
package deps
