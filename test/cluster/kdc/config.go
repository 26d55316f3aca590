package kdc

import "fmt"

// Both kinds of keys are known to every Java, to MIT and to gokrb5.
const keys = "aes256-cts-hmac-sha1-96 aes128-cts-hmac-sha1-96"

// client is krb5.conf. Over TCP alone, because a lost datagram costs a second on
// a machine that has other work; hosts are called what the caller calls them.
func (k *KDC) client() string {
	return fmt.Sprintf(`[libdefaults]
  default_realm = %[1]s
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  ticket_lifetime = 24h
  renew_lifetime = 7d
  forwardable = true
  default_ccache_name = FILE:%[2]s
  default_tkt_enctypes = %[3]s
  default_tgs_enctypes = %[3]s
  permitted_enctypes = %[3]s
[realms]
  %[1]s = {
    kdc = 127.0.0.1:%[4]d
  }
[domain_realm]
  localhost = %[1]s
`, Realm, k.path("cache"), keys, k.Port)
}

// profile is kdc.conf.
func (k *KDC) profile() string {
	return fmt.Sprintf(`[kdcdefaults]
  kdc_listen = 127.0.0.1:%[2]d
  kdc_tcp_listen = 127.0.0.1:%[2]d
[realms]
  %[1]s = {
    database_name = %[3]s/principal
    key_stash_file = %[3]s/stash
    acl_file = %[3]s/kadm5.acl
    max_life = 24h
    max_renewable_life = 7d
    master_key_type = aes256-cts-hmac-sha1-96
    supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
  }
[logging]
  kdc = FILE:%[3]s/kdc.log
  admin_server = FILE:%[3]s/kadmin.log
`, Realm, k.Port, k.Dir)
}
