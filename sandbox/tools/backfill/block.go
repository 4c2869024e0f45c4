package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/index"
)

const samplesAChunk = 120 // as Prometheus' head cuts them

// series collects encoded samples until the day's block is written.
type series struct {
	labels   labels.Labels
	chunks   []chunks.Meta
	appender chunkenc.Appender
	chunk    *chunkenc.XORChunk
	live     bool // the last sample is no stale marker
}

func newSeries(pairs ...string) *series {
	return &series{labels: labels.FromStrings(pairs...)}
}

func (s *series) append(at int64, found float64) {
	if s.chunk == nil || s.chunk.NumSamples() >= samplesAChunk {
		s.chunk = chunkenc.NewXORChunk()
		s.appender, _ = s.chunk.Appender() // of an empty chunk it cannot fail
		s.chunks = append(s.chunks, chunks.Meta{Chunk: s.chunk, MinTime: at})
	}
	if math.IsNaN(found) && !value.IsStaleNaN(found) {
		found = math.Float64frombits(value.NormalNaN)
	}
	s.appender.Append(0, at, found)
	s.chunks[len(s.chunks)-1].MaxTime = at
	s.live = !value.IsStaleNaN(found)
}

// appendStale says that the series has ended, as Prometheus does, once.
func (s *series) appendStale(at int64) {
	if s.live {
		s.append(at, stale)
	}
}

func (s *series) appendIf(there bool, at int64, found float64) {
	if there {
		s.append(at, found)
	} else {
		s.appendStale(at)
	}
}

type written struct {
	samples uint64
	series  int
	bytes   int64
}

// write makes the block of all samples of a time, and takes them out of the series.
func write(out string, every []*series, from, to int64) (written, error) {
	found := slices.DeleteFunc(every, func(one *series) bool { return len(one.chunks) == 0 })
	slices.SortFunc(found, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
	id := ulid.MustNew(uint64(from), rand.Reader)
	done := filepath.Join(out, id.String())
	folder := done + ".tmp-for-creation" // what Prometheus removes if it finds it
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return written{}, err
	}
	meta := tsdb.BlockMeta{ULID: id, MinTime: from, MaxTime: to, Version: 1}
	meta.Compaction = tsdb.BlockMetaCompaction{Level: 1, Sources: []ulid.ULID{id}}
	if err := writeSeries(folder, found, &meta.Stats); err != nil {
		return written{}, err
	}
	content, err := json.MarshalIndent(meta, "", "\t")
	if err != nil {
		return written{}, err
	}
	if err := os.WriteFile(filepath.Join(folder, "meta.json"), content, 0o666); err != nil {
		return written{}, err
	}
	if err := os.Rename(folder, done); err != nil {
		return written{}, err
	}
	size, err := sizeOf(done)
	return written{meta.Stats.NumSamples, len(found), size}, err
}

func writeSeries(folder string, found []*series, stats *tsdb.BlockStats) (err error) {
	data, err := chunks.NewWriter(filepath.Join(folder, "chunks"))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, data.Close()) }()
	catalogue, err := index.NewWriter(context.Background(), filepath.Join(folder, "index"))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, catalogue.Close()) }()
	for _, symbol := range symbols(found) {
		if err := catalogue.AddSymbol(symbol); err != nil {
			return err
		}
	}
	for number, one := range found {
		if err := data.WriteChunks(one.chunks...); err != nil {
			return err
		}
		if err := catalogue.AddSeries(storage.SeriesRef(number), one.labels, one.chunks...); err != nil {
			return err
		}
		stats.NumChunks += uint64(len(one.chunks))
		for _, chunk := range one.chunks {
			stats.NumSamples += uint64(chunk.Chunk.NumSamples())
		}
		one.chunks, one.chunk = nil, nil
	}
	stats.NumSeries, stats.NumFloatSamples = uint64(len(found)), stats.NumSamples
	return nil
}

func symbols(found []*series) []string {
	every := map[string]struct{}{}
	for _, one := range found {
		one.labels.Range(func(label labels.Label) {
			every[label.Name] = struct{}{}
			every[label.Value] = struct{}{}
		})
	}
	sorted := make([]string, 0, len(every))
	for symbol := range every {
		sorted = append(sorted, symbol)
	}
	slices.Sort(sorted)
	return sorted
}

func sizeOf(folder string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			found, failed := entry.Info()
			if failed != nil {
				return failed
			}
			total += found.Size()
		}
		return err
	})
	return total, err
}
