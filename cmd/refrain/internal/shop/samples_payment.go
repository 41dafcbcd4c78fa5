package shop

import (
	"net/http"
)

// paymentSamples is the story of an effect that a provider performs: done at
// once, declined, its answer lost and found again, and one that only a person can
// decide.
func paymentSamples(base, database string) []Sample {
	key, poor, lost, open := FreshKey(), FreshKey(), FreshKey(), FreshKey()
	pay := func(shows, key, account string, status int) Sample {
		return post(shows, base+"/v1/payments", "demo-north", key, `{"account":"`+account+`","amount":1250,"currency":"EUR"}`, status)
	}
	set := func(shows, form string) Sample {
		return Sample{Shows: shows, Method: http.MethodPost, URL: base + providerPath, Header: map[string]string{
			"Content-Type": "application/x-www-form-urlencoded",
		}, Body: form, Status: http.StatusSeeOther}
	}
	count := func(shows string) Sample {
		return Sample{Shows: shows, Method: http.MethodGet, URL: base + providerPath, Status: http.StatusOK}
	}
	hasty := pay("accepted: the client does not wait; the answer has the ref of the action", lost, "bert", http.StatusAccepted)
	hasty.Header["Prefer"] = "wait=0"
	status := Sample{
		Shows: "ask by ref, and wait: it was charged, the answer lost, and the provider asked; the state is confirmed", Method: http.MethodGet,
		URL: base + statusPath + "/REF", Header: map[string]string{"Authorization": "Bearer demo-north", "Prefer": "wait=10"}, Status: http.StatusOK,
	}
	return []Sample{
		pay("payment: charged at the provider while the request waits", key, "anna", http.StatusCreated),
		pay("replay: of the payment, byte for byte", key, "anna", http.StatusCreated),
		pay("declined: the provider's refusal is the result", poor, "declined-7", http.StatusPaymentRequired),
		count("count: charges 1"),
		set("switch: the provider loses its next answer, after it has charged", "fault=lose-answer&once=true"),
		hasty,
		status,
		pay("replay: the same request is answered with what settled it", lost, "bert", http.StatusCreated),
		count("count: charges 2, one for each payment that was made"),
		set("switch: it loses an answer, knows no key again and cannot be asked", "fault=lose-answer&once=true&window=0s&query=false"),
		pay("open: nobody can know; the request waits in vain, and the answer has the ref of the action", open, "carl", http.StatusAccepted),
		pay("unknown: the retry charges nothing", open, "carl", http.StatusConflict),
		{Shows: "the way out: a person asks the provider's support, and decides", Command: verdict{happened: true, reason: "the provider's support sees it"}.command("REF", database)},
		pay("resolved: the next retry gets what the person recorded", open, "carl", http.StatusCreated),
		set("switch: the provider is sound again", "fault="),
		count("count: charges 3"),
	}
}
