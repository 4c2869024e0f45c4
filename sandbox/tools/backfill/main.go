// Command backfill writes weeks of a synthetic fleet's metrics as Prometheus blocks, one for each day of UTC.
//
// The fleet and its truth come as JSON (fleet.go); what then happened is printed as JSON. A group lives day by day
// (life.go), its pods are scraped (scrape.go, client.go), and what the scrapes found is encoded as the blocks want it
// (block.go): memory holds one day. The same input and seed give the same samples, on any number of cores.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

const dayMs = int64(24 * time.Hour / time.Millisecond)

type report struct {
	Samples uint64              `json:"samples"`
	Series  int                 `json:"series"`
	Blocks  int                 `json:"blocks"`
	Bytes   int64               `json:"bytes"`
	WallS   float64             `json:"wall_s"`
	Groups  map[string]happened `json:"groups"`
}

func main() {
	fleet := flag.String("fleet", "", "the fleet, as JSON")
	out := flag.String("out", "", "the folder that gets the blocks")
	since := flag.Int64("since", 0, "first moment, in Unix seconds")
	until := flag.Int64("until", 0, "last moment, in Unix seconds")
	interval := flag.Int64("interval", 60, "seconds between two scrapes of a target")
	seed := flag.Uint64("seed", 1, "another seed, another history of the same fleet")
	flag.Parse()
	if err := run(*fleet, *out, *since*1000, *until*1000, *interval*1000, *seed); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(fleet, out string, since, until, interval int64, seed uint64) error {
	began := time.Now()
	specs, err := read(fleet)
	if err != nil {
		return err
	}
	if since >= until || interval <= 0 {
		return fmt.Errorf("-since must be before -until, and -interval above 0")
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	groups := make([]*group, len(specs))
	for i, one := range specs {
		groups[i] = newGroup(one, i, since, interval, seed)
	}
	told := report{Groups: map[string]happened{}}
	first, last := since/dayMs, (until-1)/dayMs
	for day := first; day <= last; day++ {
		from, to := max(since, day*dayMs), min(until, (day+1)*dayMs)
		each(groups, func(one *group) { one.live(to); one.scrape(from, to) })
		var found []*series
		for _, one := range groups {
			found = append(found, one.takeSeries()...)
		}
		block, err := write(out, found, from, to)
		if err != nil {
			return err
		}
		told.Samples += block.samples
		told.Bytes += block.bytes
		told.Series = max(told.Series, block.series)
		told.Blocks++
		fmt.Fprintf(os.Stderr, "day %d of %d: %d samples\n", day-first+1, last-first+1, told.Samples)
	}
	for _, one := range groups {
		told.Groups[one.spec.Namespace+"/"+one.spec.Group] = one.happened
	}
	told.WallS = time.Since(began).Seconds()
	return json.NewEncoder(os.Stdout).Encode(told)
}

// each does the same to all groups, on all cores.
func each(groups []*group, do func(*group)) {
	var next sync.Mutex
	var busy sync.WaitGroup
	left := groups
	for range runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for {
				next.Lock()
				if len(left) == 0 {
					next.Unlock()
					return
				}
				one := left[0]
				left = left[1:]
				next.Unlock()
				do(one)
			}
		})
	}
	busy.Wait()
}
