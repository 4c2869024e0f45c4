package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	longestMs = int64(600_000) // no delay is longer
	forever   = int64(math.MaxInt64 / 2)
)

// span is a stretch of time, in Unix milliseconds.
type span struct{ from, until int64 }

// pause is an absence: a process stands still.
type pause struct {
	span
	collector bool // the JVM's collector did it
	evicts    bool // it outlasts the session timeout
}

// join is a rebalance as one member has it.
type join struct {
	span
	assigned int  // partitions from then on
	failed   int  // attempts that failed before
	noticed  bool // a heartbeat was refused with REBALANCE_IN_PROGRESS
	lost     bool // the member had been removed
}

// process is one run of a pod's container.
type process struct {
	started  int64 // the container
	consumer int64 // the client object
	joins    int64 // its first JoinGroup
	ended    int64
}

// pod is a member's pod; what happens to it is queued for those who look at it at their own pace.
type pod struct {
	name, uid, ip   string
	created, gone   int64
	told            int64 // to end
	processes       []process
	nextAbsence     int64
	nextCrash       int64
	evicted         []span
	beatPauses      []pause
	pollPauses      []pause
	scrapePauses    []pause
	joins, beatWait []join
	exporter        exporter
	kube            kube
	watched         watched
}

// trigger is why a group rebalances.
type trigger struct {
	at      int64
	notYet  int64 // it cannot complete before: a dead member is waited for
	joiner  *pod  // who asks; nil if somebody left
	lost    bool
	planned bool
}

// happened is what a group went through.
type happened struct {
	Absences    int            `json:"absences"`
	Exceeding   map[string]int `json:"absences_exceeding_s"`
	LongestS    float64        `json:"longest_absence_s"`
	Evictions   int            `json:"evictions"`
	Outages     int            `json:"outages"`
	Crashes     int            `json:"crashes"`
	DowntimesS  []float64      `json:"downtimes_s"`
	Rollouts    int            `json:"rollouts"`
	Planned     int            `json:"planned_rebalances"`
	Unplanned   int            `json:"unplanned_rebalances"`
	MemberDays  float64        `json:"member_days"`
	PodsCreated int            `json:"pods_created"`
}

var levelsS = []float64{0.5, 1, 2, 5, 10, 20}

type group struct {
	spec        spec
	number      int
	rng         *rand.Rand
	interval    int64
	pods        []*pod
	since       int64
	lived       int64 // up to here
	nextRollout int64
	nextOutage  int64
	outages     []span
	triggers    []trigger
	stableAt    int64 // the last rebalance is over
	happened    happened
	ended       []*series // of pods that are gone
	shown       shown
}

func newGroup(one spec, number int, since, interval int64, seed uint64) *group {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%s/%s", one.Namespace, one.Group)
	rng := rand.New(rand.NewPCG(seed, hash.Sum64()))
	found := &group{
		spec: one, number: number, rng: rng, interval: interval, since: since, lived: since, stableAt: since,
		nextRollout: since + gapMs(one.RolloutsPerDay, rng), nextOutage: since + gapMs(one.Outages.PerDay, rng),
		happened: happened{Exceeding: map[string]int{}},
	}
	for range one.Members {
		began := since - int64((0.5+3*rng.Float64())*float64(dayMs))
		one := found.newPod(began, began+2000)
		one.nextAbsence = since + gapMs(found.spec.Absences.PerDay, rng)
		one.nextCrash = since + gapMs(found.spec.CrashesPerDay, rng)
	}
	return found
}

// newPod makes a pod whose container starts at a time.
func (g *group) newPod(created, started int64) *pod {
	startup := int64(g.spec.Startup.drawMs(g.rng))
	run := process{started, started + startup*85/100, started + startup, forever}
	made := &pod{
		name:    fmt.Sprintf("%s-%08x-%05x", g.spec.Group, uint32(g.happened.Rollouts*7919+g.number*104729+12345), g.rng.IntN(1<<20)),
		uid:     fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", g.rng.Uint32(), g.rng.IntN(1<<16), g.rng.IntN(1<<12), g.rng.IntN(1<<12), g.rng.Int64N(1<<48)),
		ip:      fmt.Sprintf("10.%d.%d.%d", g.number>>8&255, g.number&255, 1+g.happened.PodsCreated%250),
		created: created, gone: forever, told: forever,
		processes:   []process{run},
		nextAbsence: run.joins + 5000 + gapMs(g.spec.Absences.PerDay, g.rng),
		nextCrash:   run.joins + 60_000 + gapMs(g.spec.CrashesPerDay, g.rng),
	}
	g.happened.PodsCreated++
	g.pods = append(g.pods, made)
	return made
}

// live lets everything happen that begins before a time.
func (g *group) live(to int64) {
	for g.nextRollout < to {
		over := g.rollOut(g.nextRollout)
		g.nextRollout = over + 600_000 + gapMs(g.spec.RolloutsPerDay, g.rng)
	}
	for g.nextOutage < to {
		length := g.spec.Outages.lengthMs(g.rng)
		g.outages = append(g.outages, span{g.nextOutage, g.nextOutage + length})
		g.happened.Outages++
		g.nextOutage += length + 1000 + gapMs(g.spec.Outages.PerDay, g.rng)
	}
	for _, one := range g.pods {
		g.crash(one, to)
		g.pause(one, to)
		last := one.processes[len(one.processes)-1]
		g.happened.MemberDays += float64(max(0, min(to, last.ended)-max(g.lived, one.processes[0].joins))) / float64(dayMs)
	}
	slices.SortStableFunc(g.triggers, func(a, b trigger) int { return cmp.Compare(a.at, b.at) })
	for len(g.triggers) > 0 && g.triggers[0].at < to {
		g.rebalance(g.triggers[0])
		g.triggers = g.triggers[1:]
	}
	g.lived = to
}

// rollOut replaces one pod after the other, the new one before the old one; it returns when it is over.
func (g *group) rollOut(at int64) int64 {
	g.happened.Rollouts++
	for _, old := range slices.Clone(g.pods) {
		if old.told != forever {
			continue
		}
		made := g.newPod(at, at+1000+g.rng.Int64N(2000))
		joins := made.processes[0].joins
		old.told = joins + 1000
		old.gone = old.told + 500 + g.rng.Int64N(2500)
		old.processes[len(old.processes)-1].ended = old.gone
		g.triggers = append(g.triggers,
			trigger{at: joins, joiner: made, planned: true}, trigger{at: old.gone, planned: true})
		at = old.gone + 3000
	}
	return at
}

// crash ends processes at once; the kubelet starts the container anew, and the group waits for the dead member.
func (g *group) crash(one *pod, to int64) {
	session := int64(g.spec.SessionTimeoutS * 1000)
	for one.nextCrash < min(to, one.told-120_000) {
		at := one.nextCrash
		run := &one.processes[len(one.processes)-1]
		run.ended = at
		started := at + 1000 + g.rng.Int64N(2000)
		startup := int64(g.spec.Startup.drawMs(g.rng))
		joins := started + startup
		one.processes = append(one.processes, process{started, started + startup*85/100, joins, forever})
		if one.told != forever {
			one.processes[len(one.processes)-1].ended = one.gone
		}
		g.happened.Crashes++
		g.happened.DowntimesS = append(g.happened.DowntimesS, float64(joins-at)/1000)
		removed := at + session - g.rng.Int64N(int64(g.spec.BeatS*1000))
		if joins < removed {
			g.triggers = append(g.triggers, trigger{at: joins, notYet: removed, joiner: one})
		} else {
			g.triggers = append(g.triggers, trigger{at: removed}, trigger{at: joins, joiner: one})
		}
		one.nextCrash = joins + 300_000 + gapMs(g.spec.CrashesPerDay, g.rng)
	}
}

// pause makes a pod's processes stand still now and then.
func (g *group) pause(one *pod, to int64) {
	session := int64(g.spec.SessionTimeoutS * 1000)
	for one.nextAbsence < min(to, one.gone) {
		at := one.nextAbsence
		length := g.spec.Absences.lengthMs(g.rng)
		one.nextAbsence = at + length + 1000 + gapMs(g.spec.Absences.PerDay, g.rng)
		collector := g.rng.Float64() < g.spec.CollectorShare
		run := slices.IndexFunc(one.processes, func(run process) bool {
			return run.joins+1000 <= at && at+length+1000 < run.ended
		})
		if run < 0 {
			continue // it would meet a restart
		}
		found := pause{span: span{at, at + length}, collector: collector}
		removed := at + session - g.rng.Int64N(int64(g.spec.BeatS*1000))
		if removed < found.until {
			found.evicts = true
			one.evicted = append(one.evicted, span{removed, found.until + 200})
			g.happened.Evictions++
			g.see(one, span{removed, found.until + 200})
			g.triggers = append(g.triggers,
				trigger{at: removed}, trigger{at: found.until + 200, joiner: one, lost: true})
		}
		one.beatPauses = append(one.beatPauses, found)
		one.pollPauses = append(one.pollPauses, found)
		one.scrapePauses = append(one.scrapePauses, found)
		seconds := float64(length) / 1000
		g.happened.Absences++
		g.happened.LongestS = max(g.happened.LongestS, seconds)
		for _, level := range levelsS {
			if seconds > level {
				g.happened.Exceeding[fmt.Sprint(level)]++
			}
		}
	}
}

// rebalance brings all members together that are there.
func (g *group) rebalance(why trigger) {
	start := max(why.at, g.stableAt+100)
	end := max(start+int64(g.spec.Join.drawMs(g.rng)), why.notYet)
	g.stableAt = end
	var there []*pod
	for _, one := range g.pods {
		run := slices.IndexFunc(one.processes, func(run process) bool { return run.joins <= start && end < run.ended })
		away := slices.ContainsFunc(one.evicted, func(away span) bool { return away.from <= start && start < away.until })
		if run >= 0 && !away {
			there = append(there, one)
		}
	}
	if why.planned {
		g.happened.Planned++
	} else {
		g.happened.Unplanned++
	}
	for number, one := range there {
		found := join{span: span{start, end}, assigned: share(12, len(there), number), noticed: one != why.joiner}
		if found.noticed { // it learns of it by its next heartbeat
			found.from = min(start+g.rng.Int64N(int64(g.spec.BeatS*1000)), end-1)
		} else {
			found.failed, found.lost = 1, why.lost
		}
		one.joins = append(one.joins, found)
		one.beatWait = append(one.beatWait, found)
	}
}

func share(partitions, members, number int) int {
	found := partitions / members
	if number < partitions%members {
		found++
	}
	return found
}
