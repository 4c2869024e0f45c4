package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
)

// tail is a Poisson process of delays that follow a generalised Pareto law.
type tail struct {
	PerDay float64 `json:"per_day"`
	ScaleS float64 `json:"scale_s"`
	Shape  float64 `json:"shape"`
}

// lengthMs draws one delay.
func (one tail) lengthMs(rng *rand.Rand) int64 {
	left := 1 - rng.Float64()
	excess := -math.Log(left)
	if one.Shape != 0 {
		excess = (math.Pow(left, -one.Shape) - 1) / one.Shape
	}
	return min(int64(one.ScaleS*excess*1000), longestMs)
}

// gapMs draws the time to the next event.
func gapMs(perDay float64, rng *rand.Rand) int64 {
	if perDay <= 0 {
		return math.MaxInt64 / 4
	}
	return int64(rng.ExpFloat64() / perDay * float64(dayMs))
}

// usual is a lognormal law.
type usual struct {
	MedianS float64 `json:"median_s"`
	Sigma   float64 `json:"sigma"`
}

func (one usual) drawMs(rng *rand.Rand) float64 {
	return 1000 * one.MedianS * math.Exp(one.Sigma*rng.NormFloat64())
}

// largestMs draws the largest of n values at once.
func (one usual) largestMs(n float64, rng *rand.Rand) float64 {
	under := math.Pow(rng.Float64(), 1/n)
	return 1000 * one.MedianS * math.Exp(one.Sigma*math.Sqrt2*math.Erfinv(2*under-1))
}

// spec is the truth of one group.
type spec struct {
	Namespace       string  `json:"namespace"`
	Group           string  `json:"group"`
	Client          string  `json:"client"` // java or kafkajs; any other where the group is watched
	Members         int     `json:"members"`
	SessionTimeoutS float64 `json:"session_timeout_s"`
	BeatS           float64 `json:"beat_s"`           // between two heartbeats
	Absences        tail    `json:"absences"`         // of each member: its process stands still
	CollectorShare  float64 `json:"gc_share"`         // of the absences, as the JVM counts them
	Polls           usual   `json:"polls"`            // time between two polls of a Java member that is not absent
	Outages         tail    `json:"outages"`          // of the coordinator: what is sent meanwhile is answered after it
	CrashesPerDay   float64 `json:"crashes_per_day"`  // of each member
	RolloutsPerDay  float64 `json:"rollouts_per_day"` // of the group
	Startup         usual   `json:"startup"`          // of a process, up to its first join
	Join            usual   `json:"join"`             // from a rebalance's begin to its end
	LookEveryS      float64 `json:"look_every_s"`     // the operator describes the group so often, and the client exports nothing
}

func read(path string) ([]spec, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var found struct {
		Groups []spec `json:"groups"`
	}
	if err := json.Unmarshal(content, &found); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, one := range found.Groups {
		if one.LookEveryS <= 0 && one.Client != "java" && one.Client != "kafkajs" {
			return nil, fmt.Errorf("%s: client of group %q is %q, must be java or kafkajs, or the group has look_every_s", path, one.Group, one.Client)
		}
		if one.Members < 1 || one.BeatS <= 0 || one.SessionTimeoutS <= one.BeatS {
			return nil, fmt.Errorf("%s: group %q needs members, and a session_timeout_s above its beat_s", path, one.Group)
		}
	}
	return found.Groups, nil
}
