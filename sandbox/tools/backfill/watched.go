package main

import "github.com/prometheus/prometheus/model/labels"

// watched is what the operator exports of a pod whose client exports nothing: new ids, as its group watcher counts them.
type watched struct {
	certain, unseen             []int64 // when each was counted
	certainSeries, unseenSeries *series
}

// shown is what the operator exports of a group's policy.
type shown struct{ info, session *series }

// followedMs is how long after a description that shows a member gone the operator has the group described once more.
const followedMs = 500

// see has the group described every so often: an eviction is certain if a description shows the member out of its group,
// and the one that follows it does, too.
func (g *group) see(one *pod, away span) {
	every := int64(g.spec.LookEveryS * 1000)
	if every <= 0 {
		return
	}
	phase := int64(g.number) * 977 % every
	back := firstAfter(away.until, phase, every)
	if firstAfter(away.from, phase, every)+followedMs < away.until {
		one.watched.certain = append(one.watched.certain, back)
	} else {
		one.watched.unseen = append(one.watched.unseen, back)
	}
}

// scrapeOperator takes what the operator exports of the group, at a third of the interval like other targets of all.
func (g *group) scrapeOperator(from, to int64) {
	if g.spec.LookEveryS <= 0 {
		return
	}
	with := func(name string, more ...string) *series {
		return newSeries(append([]string{
			labels.MetricName, name, "container", "operator", "endpoint", "metrics", "instance", "10.255.0.20:8080",
			"job", "heartbeat-tuner", "namespace", g.spec.Namespace, "policy", g.spec.Group,
		}, more...)...)
	}
	if g.shown.info == nil {
		g.shown.info = with("heartbeat_tuner_policy_info", "group", g.spec.Group, "client", g.spec.Client,
			"workload_kind", "Deployment", "workload", g.spec.Group, "mode", "Observe")
		g.shown.session = with("heartbeat_tuner_policy_session_timeout_seconds", "values", "set")
	}
	for at := firstAfter(from, g.interval/3, g.interval); at < to; at += g.interval {
		g.shown.info.append(at, 1)
		g.shown.session.append(at, g.spec.SessionTimeoutS)
	}
	for _, one := range g.pods {
		w := &one.watched
		if w.certainSeries == nil {
			counter := func(certainty string) *series {
				return with("heartbeat_tuner_group_evictions_total", "group", g.spec.Group, "pod", one.name, "certainty", certainty)
			}
			w.certainSeries, w.unseenSeries = counter("certain"), counter("unseen")
		}
		for at := firstAfter(max(from, one.created), g.interval/3, g.interval); at < min(to, one.gone); at += g.interval {
			w.certainSeries.append(at, upTo(w.certain, at))
			w.unseenSeries.append(at, upTo(w.unseen, at))
		}
	}
}

// upTo counts the moments up to one.
func upTo(moments []int64, at int64) float64 {
	count := 0
	for _, moment := range moments {
		if moment <= at {
			count++
		}
	}
	return float64(count)
}
