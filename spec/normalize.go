package spec

import "reflect"

// RoleName is the name of the only role of a job that names none.
func RoleName(framework string) string {
	if framework == "" || framework == "plain" {
		return "task"
	}
	return "worker"
}

// Normalize leaves roles only: a job in the short form gets its one role, and
// every role gets what the top level says and it does not. The environment of
// the top level stays there; it is that of every task, under the role's own.
//
// Resolve has done this with more knowledge (a role's gpus: 0 is written); here
// a zero is taken as not written.
func Normalize(j *Job) {
	top := j.Role
	j.Role = Role{Env: top.Env}
	if len(j.Roles) == 0 {
		top.Env = nil
		j.Roles = Roles{{Name: RoleName(j.Framework), Role: top}}
		return
	}
	from := reflect.ValueOf(&top).Elem()
	for i := range j.Roles {
		to := reflect.ValueOf(&j.Roles[i].Role).Elem()
		for _, f := range fieldsOf(from.Type()) {
			if v := to.FieldByIndex(f.index); inherits(j.Roles[i].Name, f.name) && v.IsZero() {
				v.Set(from.FieldByIndex(f.index))
			}
		}
	}
}
