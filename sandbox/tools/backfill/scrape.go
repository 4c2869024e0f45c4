package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

const scrapeTimeoutMs = int64(10_000)

var stale = math.Float64frombits(value.StaleNaN)

// sampled is a series, and how a client shows it.
type sampled struct {
	*series
	show func(c *client, at int64) float64
}

// exporter is the target of a pod: its series, and the client object behind them.
type exporter struct {
	up, took *series
	process  int
	client   *client
	offset   int64
	samples  []sampled
	member   *series // of KafkaJS, by member id
	before   float64 // beats of its earlier member ids
	earlier  []*series
	earlierV []float64
	left     []*series // of processes that ended today
}

// kube is what kube-state-metrics tells of a pod.
type kube struct{ started, ready, running, restarts, terminated, deleted *series }

var javaSeries = []struct {
	name string
	show func(c *client, at int64) float64
}{
	{"consumer_coordinator_metrics_heartbeat", func(c *client, _ int64) float64 { return c.beats + c.refused }},
	{"consumer_coordinator_metrics_heartbeat_response_time_max", func(c *client, at int64) float64 { return c.answers.at(at) }},
	{"consumer_coordinator_metrics_last_heartbeat_seconds_ago", func(c *client, at int64) float64 { return age(at, c.lastBeat) }},
	{"consumer_coordinator_metrics_rebalance", func(c *client, _ int64) float64 { return c.rebalances }},
	{"consumer_coordinator_metrics_rebalance_latency", func(c *client, _ int64) float64 { return c.rebalancedMs }},
	{"consumer_coordinator_metrics_rebalance_latency_max", func(c *client, at int64) float64 { return c.latencies.at(at) }},
	{"consumer_coordinator_metrics_last_rebalance_seconds_ago", func(c *client, at int64) float64 { return age(at, c.lastJoin) }},
	{"consumer_coordinator_metrics_failed_rebalance", func(c *client, _ int64) float64 { return c.failed }},
	{"consumer_coordinator_metrics_join", func(c *client, _ int64) float64 { return c.joins }},
	{"consumer_coordinator_metrics_join_time_max", func(c *client, at int64) float64 { return c.joinTimes.at(at) }},
	{"consumer_coordinator_metrics_sync_time_max", func(c *client, at int64) float64 { return c.syncTimes.at(at) }},
	{"consumer_coordinator_metrics_partition_lost_latency_max", func(c *client, at int64) float64 { return c.losses.at(at) }},
	{"consumer_coordinator_metrics_assigned_partitions", func(c *client, _ int64) float64 { return float64(c.assigned) }},
	{"consumer_coordinator_metrics_commit_latency_max", func(c *client, at int64) float64 { return c.commits.at(at) }},
	{"consumer_metrics_time_between_poll_max", func(c *client, at int64) float64 { return c.polls.at(at) }},
	{"consumer_metrics_time_between_poll_avg", func(c *client, _ int64) float64 {
		return c.spec.Polls.MedianS * 1000 * math.Exp(c.spec.Polls.Sigma*c.spec.Polls.Sigma/2)
	}},
	{"consumer_metrics_last_poll_seconds_ago", func(c *client, at int64) float64 { return age(at, c.lastPoll) }},
}

// age is in whole seconds, and -1 if it never happened.
func age(now, then int64) float64 {
	if then == 0 {
		return -1
	}
	return float64(max(0, now-then) / 1000)
}

// scrape takes the samples of a part of a day.
func (g *group) scrape(from, to int64) {
	g.scrapeOperator(from, to)
	kept := g.pods[:0]
	for _, one := range g.pods {
		if one.exporter.up == nil {
			g.expose(one)
		}
		g.scrapeTarget(one, from, to)
		g.scrapeKube(one, from, to)
		if one.gone < to {
			g.ended = append(g.ended, one.series()...)
		} else {
			kept = append(kept, one)
		}
	}
	g.pods = kept
	for len(g.outages) > 0 && g.outages[0].until < to-longestMs {
		g.outages = g.outages[1:]
	}
}

// expose makes a pod's series, with the labels that a PodMonitor gives.
func (g *group) expose(one *pod) {
	port := "9404"
	if g.spec.Client == "kafkajs" {
		port = "9100"
	}
	with := func(name string, more ...string) *series {
		return newSeries(append([]string{
			labels.MetricName, name, "container", "consumer", "endpoint", "metrics", "instance", one.ip + ":" + port,
			"job", g.spec.Namespace + "/" + g.spec.Group, "namespace", g.spec.Namespace, "pod", one.name,
		}, more...)...)
	}
	e := &one.exporter
	e.offset = g.rng.Int64N(g.interval)
	e.process = -1
	e.up, e.took = with("up"), with("scrape_duration_seconds")
	if g.spec.Client == "java" {
		id := "consumer-" + g.spec.Group + "-1"
		for _, shown := range javaSeries {
			e.samples = append(e.samples, sampled{with("kafka_consumer_"+shown.name, "client_id", id), shown.show})
		}
		young, old := "G1 Young Generation", "G1 Old Generation"
		for _, shown := range []sampled{
			{with("jvm_gc_collection_seconds_count", "gc", young), func(c *client, _ int64) float64 { return c.collections }},
			{with("jvm_gc_collection_seconds_sum", "gc", young), func(c *client, _ int64) float64 { return c.collectedS }},
			{with("jvm_gc_collection_seconds_count", "gc", old), func(c *client, _ int64) float64 { return c.fullCollections }},
			{with("jvm_gc_collection_seconds_sum", "gc", old), func(c *client, _ int64) float64 { return c.fullCollectS }},
		} {
			e.samples = append(e.samples, shown)
		}
	} else if g.spec.Client == "kafkajs" {
		group := []string{"group_id", g.spec.Group}
		e.samples = []sampled{
			{with("kafkajs_consumer_requests_total", append(group, "api_name", "Heartbeat")...), func(c *client, _ int64) float64 { return c.beats + c.refused + c.notices }},
			{with("kafkajs_consumer_rebalancing_total", group...), func(c *client, _ int64) float64 { return c.notices }},
			{with("kafkajs_consumer_group_join_seconds_count", group...), func(c *client, _ int64) float64 { return c.rebalances }},
			{with("kafkajs_consumer_group_join_seconds_sum", group...), func(c *client, _ int64) float64 { return c.rebalancedMs / 1000 }},
			{with("nodejs_eventloop_lag_max_seconds"), func(c *client, _ int64) float64 {
				found := c.loopLagMs
				c.loopLagMs = 0
				return found / 1000
			}},
		}
	}
	about := func(name, container string) *series {
		return newSeries(labels.MetricName, name, "container", container, "endpoint", "http", "instance", "10.255.0.10:8080",
			"job", "kube-state-metrics", "metrics_path", "/metrics", "namespace", g.spec.Namespace, "pod", one.name,
			"service", "kube-state-metrics", "uid", one.uid)
	}
	one.kube = kube{
		about("kube_pod_start_time", "kube-state-metrics"), about("kube_pod_status_ready_time", "kube-state-metrics"),
		about("kube_pod_container_state_started", "consumer"), about("kube_pod_container_status_restarts_total", "consumer"),
		about("kube_pod_container_status_last_terminated_timestamp", "consumer"), about("kube_pod_deletion_timestamp", "kube-state-metrics"),
	}
}

// memberSeries is the counter of one member id.
func (g *group) memberSeries(one *pod) *series {
	id := fmt.Sprintf("%s-%08x-%04x", one.name, g.rng.Uint32(), g.rng.IntN(1<<16))
	return newSeries(labels.MetricName, "kafka_consumer_heartbeat_total", "container", "consumer", "endpoint", "metrics",
		"group_id", g.spec.Group, "instance", one.ip+":9100", "job", g.spec.Namespace+"/"+g.spec.Group, "member_id", id,
		"namespace", g.spec.Namespace, "pod", one.name)
}

func (g *group) scrapeTarget(one *pod, from, to int64) {
	e := &one.exporter
	for at := firstAfter(max(from, one.created+1000), e.offset, g.interval); at < min(to, one.gone); at += g.interval {
		g.scrapeOnce(one, at)
	}
	if one.gone < to {
		last := firstAfter(one.gone, e.offset, g.interval)
		if last < to {
			e.end(last)
			e.up.appendStale(last)
			e.took.appendStale(last)
		}
	}
}

func (g *group) scrapeOnce(one *pod, at int64) {
	e := &one.exporter
	running := -1
	for number, run := range one.processes {
		if run.started+500 <= at && at < run.ended {
			running = number
		}
	}
	for len(one.scrapePauses) > 0 && one.scrapePauses[0].until <= at {
		one.scrapePauses = one.scrapePauses[1:]
	}
	answered := at
	if len(one.scrapePauses) > 0 && one.scrapePauses[0].from <= at {
		answered = one.scrapePauses[0].until
	}
	if running < 0 || answered-at > scrapeTimeoutMs {
		e.up.append(at, 0)
		e.took.append(at, map[bool]float64{true: 0.0005, false: 10.0003}[running < 0])
		e.end(at)
		return
	}
	e.up.append(at, 1)
	e.took.append(at, float64(answered-at)/1000+0.004+math.Floor(g.rng.ExpFloat64()*5e6)/1e9)
	if g.spec.LookEveryS > 0 {
		return // the client exports nothing
	}
	run := one.processes[running]
	if running != e.process {
		e.leave(at)
		e.process, e.client = running, nil
	}
	if answered < run.consumer {
		e.end(at) // the process is there, its consumer is not yet
		return
	}
	if e.client == nil {
		e.client = newClient(&g.spec, run.consumer, rand.New(rand.NewPCG(g.rng.Uint64(), g.rng.Uint64())))
		if run.joins < g.since {
			e.client.aged(g.since, share(12, g.spec.Members, 0))
		}
	}
	e.client.advance(one, g.outages, answered)
	for _, shown := range e.samples {
		shown.append(at, shown.show(e.client, answered))
	}
	if g.spec.Client == "kafkajs" {
		e.countByMember(at, g, one)
	}
}

// countByMember shows the accepted heartbeats of each member id that the process has had.
func (e *exporter) countByMember(at int64, g *group, one *pod) {
	c := e.client
	if c.newMember {
		c.newMember = false
		if e.member != nil {
			e.earlier, e.earlierV = append(e.earlier, e.member), append(e.earlierV, c.beats-e.before)
			e.before, e.member = c.beats, nil
		}
	}
	if e.member == nil && c.beats > e.before {
		e.member = g.memberSeries(one)
	}
	if e.member != nil {
		e.member.append(at, c.beats-e.before)
	}
	for number, earlier := range e.earlier {
		earlier.append(at, e.earlierV[number])
	}
}

// leave gives up the counters of a process that ended: the next one has others.
func (e *exporter) leave(at int64) {
	e.endMembers(at)
	e.left = append(e.left, e.earlier...)
	if e.member != nil {
		e.left = append(e.left, e.member)
	}
	e.member, e.before, e.earlier, e.earlierV = nil, 0, nil, nil
}

// end marks what was there in the scrape before and is no longer.
func (e *exporter) end(at int64) {
	for _, shown := range e.samples {
		shown.appendStale(at)
	}
	e.endMembers(at)
}

func (e *exporter) endMembers(at int64) {
	if e.member != nil {
		e.member.appendStale(at)
	}
	for _, one := range e.earlier {
		one.appendStale(at)
	}
}

func (g *group) scrapeKube(one *pod, from, to int64) {
	k := &one.kube
	offset := g.interval / 3 // one target: all of its samples have the same times
	for at := firstAfter(max(from, one.created), offset, g.interval); at < min(to, one.gone+1000); at += g.interval {
		k.started.append(at, seconds(one.created))
		restarts, running, ready, ended := 0, int64(0), int64(0), int64(0)
		for number, run := range one.processes {
			if run.started <= at {
				restarts, running = number, run.started
			}
			if run.joins <= at {
				ready = run.joins
			}
			if run.ended <= at {
				ended, running = run.ended, 0
			}
		}
		k.restarts.append(at, float64(restarts))
		k.running.appendIf(running > 0, at, seconds(running))
		k.ready.appendIf(ready > 0, at, seconds(ready))
		k.terminated.appendIf(restarts > 0 && ended > 0, at, seconds(ended))
		k.deleted.appendIf(one.told <= at, at, seconds(one.told+30_000))
	}
	if last := firstAfter(one.gone+1000, offset, g.interval); last < to {
		for _, shown := range k.all() {
			shown.appendStale(last)
		}
	}
}

func (k *kube) all() []*series {
	return []*series{k.started, k.ready, k.running, k.restarts, k.terminated, k.deleted}
}

func (one *pod) series() []*series {
	if one.exporter.up == nil {
		return nil
	}
	found := append(one.kube.all(), one.exporter.up, one.exporter.took)
	for _, shown := range one.exporter.samples {
		found = append(found, shown.series)
	}
	if one.watched.certainSeries != nil {
		found = append(found, one.watched.certainSeries, one.watched.unseenSeries)
	}
	found = append(found, one.exporter.earlier...)
	found = append(found, one.exporter.left...)
	if one.exporter.member != nil {
		found = append(found, one.exporter.member)
	}
	return found
}

// takeSeries returns all series that got samples.
func (g *group) takeSeries() []*series {
	found := g.ended
	g.ended = nil
	if g.shown.info != nil {
		found = append(found, g.shown.info, g.shown.session)
	}
	for _, one := range g.pods {
		found = append(found, one.series()...)
		one.exporter.left = nil
	}
	return found
}

func firstAfter(from, offset, interval int64) int64 {
	steps := (from - offset + interval - 1) / interval
	return offset + steps*interval
}

func seconds(ms int64) float64 { return float64(ms / 1000) }
