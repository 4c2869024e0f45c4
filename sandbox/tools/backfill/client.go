package main

import (
	"math"
	"math/rand/v2"
)

const (
	windowMs = int64(30_000) // metrics.sample.window.ms
	shownMs  = 2 * windowMs  // with metrics.num.samples of two: a window counts until so long after its last value
)

// windowed is a maximum as the Java client has it: of windows of 30 s, the older one kept until it is a minute old.
type windowed struct {
	number [4]int64
	value  [4]float64
	last   [4]int64
}

func (w *windowed) record(at int64, value float64) {
	number := at / windowMs
	slot := number & 3
	if w.number[slot] != number || w.last[slot] == 0 {
		w.number[slot], w.value[slot] = number, value
	}
	w.value[slot] = max(w.value[slot], value)
	w.last[slot] = at
}

// at returns whole milliseconds, or NaN if nothing was recorded of late.
func (w *windowed) at(now int64) float64 {
	found := math.NaN()
	for slot, last := range w.last {
		if last > now-shownMs && last > 0 && !(found >= w.value[slot]) {
			found = w.value[slot]
		}
	}
	return math.Floor(found)
}

// client is one consumer object from its making on, and the process around it.
type client struct {
	origin   int64 // when it was made
	now      int64
	rng      *rand.Rand
	spec     *spec
	period   int64
	beats    float64
	nextBeat int64
	lastBeat int64
	polls    windowed
	answers  windowed
	commits  windowed
	nextPoll int64
	gapMs    float64
	lastPoll int64

	rebalances, joins, failed, notices, refused float64
	rebalancedMs                                float64
	lastJoin                                    int64
	assigned                                    int
	latencies, joinTimes, syncTimes, losses     windowed
	newMember                                   bool // it was given another member id

	collections, collectedS       float64 // young ones
	fullCollections, fullCollectS float64
	loopLagMs                     float64 // the longest since the last scrape
}

func newClient(one *spec, at int64, rng *rand.Rand) *client {
	made := &client{origin: at, now: at, rng: rng, spec: one, period: int64(one.BeatS * 1000), nextBeat: forever, nextPoll: at}
	made.gapMs = one.Polls.drawMs(rng)
	made.lastPoll = at
	return made
}

// aged gives a client that was there before the history begins its past.
func (c *client) aged(since int64, assigned int) {
	past := float64(since - c.origin)
	c.beats = math.Floor(past / float64(c.period))
	c.rebalances, c.joins, c.failed, c.rebalancedMs = 3, 3, 1, 3*math.Floor(c.spec.Join.drawMs(c.rng))
	c.notices = 2
	c.lastJoin, c.assigned = since-int64(past/3), assigned
	c.collections, c.collectedS = math.Floor(past/20_000), past/20_000*0.008
	c.now, c.lastPoll, c.nextPoll, c.lastBeat = since, since, since, since
	c.nextBeat = since + c.rng.Int64N(c.period)
}

// advance lets the client beat, poll and join up to a time, at which its process does not stand still.
func (c *client) advance(one *pod, outages []span, to int64) {
	c.join(one, to)
	c.beat(one, outages, to)
	c.poll(one, to)
	c.background(to)
	c.now = to
}

func (c *client) join(one *pod, to int64) {
	for len(one.joins) > 0 && one.joins[0].until <= to {
		found := one.joins[0]
		one.joins = one.joins[1:]
		if found.until < c.origin {
			continue
		}
		took := float64(found.until - found.from)
		c.rebalances++
		c.joins++
		c.failed += float64(found.failed)
		c.rebalancedMs += took
		c.lastJoin, c.assigned = found.until, found.assigned
		c.latencies.record(found.until, took)
		c.joinTimes.record(found.until, math.Max(1, took-5))
		c.syncTimes.record(found.until, 5)
		if found.noticed {
			c.notices++
		}
		if found.lost {
			c.losses.record(found.until, 1)
			c.refused++
			c.newMember = true
		}
		if c.nextBeat == forever {
			c.nextBeat = found.until + c.period
		}
	}
}

func (c *client) beat(one *pod, outages []span, to int64) {
	for c.nextBeat <= to {
		at := c.nextBeat
		for len(one.beatPauses) > 0 && one.beatPauses[0].until <= at {
			one.beatPauses = one.beatPauses[1:]
		}
		for len(one.beatWait) > 0 && one.beatWait[0].until <= at {
			one.beatWait = one.beatWait[1:]
		}
		if len(one.beatPauses) > 0 && one.beatPauses[0].from <= at {
			c.nextBeat = one.beatPauses[0].until // what is due comes at once
			continue
		}
		if len(one.beatWait) > 0 && one.beatWait[0].from <= at {
			c.nextBeat = one.beatWait[0].until + c.period
			continue
		}
		for _, out := range outages {
			if out.from <= at && at < out.until {
				c.answers.record(out.until, float64(out.until-at))
				c.commits.record(out.until, float64(out.until-out.from)*c.rng.Float64())
				at = out.until // sent, and answered then
			}
		}
		if at > to {
			c.nextBeat = at
			return
		}
		c.beats++
		c.lastBeat = at
		c.nextBeat = at + c.period + c.rng.Int64N(100) - 50
	}
}

// poll records the times between polls: of quick ones only the largest of each stretch is drawn.
func (c *client) poll(one *pod, to int64) {
	if c.spec.Polls.MedianS >= 1 {
		c.pollOneByOne(one, to)
		return
	}
	for at := c.now; at < to; {
		for len(one.pollPauses) > 0 && one.pollPauses[0].until <= at {
			one.pollPauses = one.pollPauses[1:]
		}
		end := to
		stands := len(one.pollPauses) > 0 && one.pollPauses[0].from < to
		if stands {
			end = one.pollPauses[0].from
		}
		for at < end {
			edge := min(end, (at/windowMs+1)*windowMs)
			c.pollFreely(at, edge)
			at = edge
		}
		if stands {
			found := one.pollPauses[0]
			one.pollPauses = one.pollPauses[1:]
			at = found.until
			c.polls.record(at, float64(at-found.from)+c.spec.Polls.drawMs(c.rng))
			c.pausedFor(found)
		}
	}
	c.lastPoll = to - int64(c.rng.Float64()*c.spec.Polls.drawMs(c.rng))
}

func (c *client) pollFreely(from, to int64) {
	gap := c.spec.Polls.MedianS * 1000 * math.Exp(c.spec.Polls.Sigma*c.spec.Polls.Sigma/2)
	count := float64(to-from) / gap
	if count >= 1 || c.rng.Float64() < count {
		c.polls.record(to-1, c.spec.Polls.largestMs(max(count, 1), c.rng))
	}
}

func (c *client) pollOneByOne(one *pod, to int64) {
	for {
		for len(one.pollPauses) > 0 && one.pollPauses[0].from < min(c.nextPoll, to) {
			found := one.pollPauses[0]
			one.pollPauses = one.pollPauses[1:]
			if found.until <= c.origin {
				continue
			}
			c.nextPoll += found.until - found.from
			c.gapMs += float64(found.until - found.from)
			c.pausedFor(found)
		}
		if c.nextPoll > to {
			return
		}
		c.polls.record(c.nextPoll, c.gapMs)
		c.lastPoll = c.nextPoll
		c.gapMs = c.spec.Polls.drawMs(c.rng)
		c.nextPoll += max(1, int64(c.gapMs))
	}
}

func (c *client) pausedFor(found pause) {
	length := float64(found.until - found.from)
	c.loopLagMs = math.Max(c.loopLagMs, length)
	if found.collector {
		c.fullCollections++
		c.fullCollectS += length / 1000
	}
}

// background records what goes on all the time: answers of some milliseconds, and small collections.
func (c *client) background(to int64) {
	quick := usual{0.003, 0.6}
	for at := c.now; at < to; {
		edge := min(to, (at/windowMs+1)*windowMs)
		if c.lastBeat > at {
			c.answers.record(c.lastBeat, quick.largestMs(max(1, float64(edge-at)/float64(c.period)), c.rng))
		}
		if c.assigned > 0 {
			c.commits.record(edge-1, quick.largestMs(max(1, float64(edge-at)/5000), c.rng))
		}
		at = edge
	}
	seconds := float64(to-c.now) / 1000
	count := math.Floor(seconds/20 + c.rng.Float64())
	c.collections += count
	c.collectedS += math.Round(count*8*math.Exp(0.3*c.rng.NormFloat64())) / 1000
	c.loopLagMs = math.Max(c.loopLagMs, usual{0.012, 0.5}.largestMs(max(1, seconds), c.rng))
}
