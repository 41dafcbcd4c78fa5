package external

import (
	"github.com/refrain-dev/refrain/operation"
)

// key is a world without what makes no difference: the workers are the same, and
// of a version only whether it is the newest.
func (w *world) key(blind bool) string {
	b := make([]byte, 0, 160)
	b = append(b, w.stored.key...)
	b = append(b, byte(w.now), byte(w.provider.charges), byte(w.provider.since), byte(w.acts), bit(w.beyond), bit(w.decided), byte(w.weighed))
	b = appendReply(b, w.provider.kept)
	one, other := w.workerKey(w.workers[0], blind), w.workerKey(w.workers[1], blind)
	if string(other) < string(one) {
		one, other = other, one
	}
	b = append(append(append(b, one...), 0xff), other...)
	for _, f := range w.flights {
		b = append(b, 0xfe, byte(f.attempt), byte(f.looked))
	}
	for _, a := range w.answers {
		b = appendReply(append(b, 0xfd, byte(a.attempt)), a.reply)
	}
	for _, k := range w.known {
		b = append(append(b, 0xfc), k...)
	}
	return string(b)
}

func (w *world) workerKey(k worker, blind bool) []byte {
	b := []byte{byte(k.at), byte(k.attempt), byte(k.notAfter), byte(k.asked)}
	if k.write == nil {
		return b
	}
	about := k.write.about
	b = appendReply(append(b, 0xfb, byte(about.attempt), byte(about.asked)), about.reply)
	if f := about.finding; f != nil {
		b = appendReply(append(b, 1+bit(f.Found)), f.Reply)
	}
	if newest := k.write.version == w.stored.Version; newest || blind {
		b = append(append(b, 0xfa, bit(newest), byte(k.write.then.at)), k.write.next.key...)
	}
	return b
}

func appendOperation(b []byte, o *operation.Operation) []byte {
	b = append(b, byte(o.State), bit(o.Disputed), byte(ticks(o.Due)), byte(ticks(o.Lease)), byte(ticks(o.First)), byte(ticks(o.NotFound)))
	for _, a := range o.Attempts {
		b = append(b, byte(a.End), byte(ticks(a.NotAfter)), byte(ticks(a.Ended)))
	}
	if o.Answer != nil {
		b = appendReply(append(b, 0xf9), *o.Answer)
	}
	for _, e := range o.Evidence {
		b = appendReply(append(b, 0xf8), e)
	}
	return b
}

func appendReply(b []byte, r operation.Reply) []byte {
	return append(append(b, byte(r.End), bit(r.Stored), byte(len(r.Reference))), r.Reference...)
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
