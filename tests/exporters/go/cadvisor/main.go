// cAdvisor as the kubelet embeds it: its own manager and collector, at the version that Kubernetes 1.35 has.
//
// There is no kubelet on the sandbox's node. What it adds, the labels namespace, pod and container, is written here from
// the cgroup's path, which is /kubepods/NAMESPACE/POD/CONTAINER; a real kubelet's path has the pod's uid instead.
package main

import (
	"flag"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/cadvisor/cache/memory"
	"github.com/google/cadvisor/container"
	_ "github.com/google/cadvisor/container/systemd/install"
	info "github.com/google/cadvisor/info/v1"
	v2 "github.com/google/cadvisor/info/v2"
	"github.com/google/cadvisor/manager"
	"github.com/google/cadvisor/metrics"
	"github.com/google/cadvisor/utils/sysfs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/utils/clock"
)

// The kubelet's own: how long figures are kept, and how often they are read at most and at least.
const (
	kept               = 2 * time.Minute
	longestInterval    = 15 * time.Second
	housekeeping       = "10s"
	podsFolder         = "/kubepods"
	namespacePodParts  = 2
	namespacePodAndOne = 3
)

func labels(c *info.ContainerInfo) map[string]string {
	set := map[string]string{
		metrics.LabelID: c.Name, metrics.LabelName: "", metrics.LabelImage: "", "namespace": "", "pod": "", "container": "",
	}
	path, found := strings.CutPrefix(c.Name, podsFolder+"/")
	parts := strings.Split(path, "/")
	if found && len(parts) >= namespacePodParts {
		set["namespace"], set["pod"] = parts[0], parts[1]
	}
	if found && len(parts) >= namespacePodAndOne {
		set["container"], set[metrics.LabelName] = parts[2], parts[2]
	}
	return set
}

func main() {
	address := flag.String("address", "", "where to serve the metrics")
	if err := flag.Set("housekeeping_interval", housekeeping); err != nil {
		log.Fatal(err)
	}
	flag.Parse()
	included := container.MetricSet{
		container.CpuUsageMetrics: {}, container.MemoryUsageMetrics: {}, container.CpuLoadMetrics: {},
		container.ProcessMetrics: {}, container.OOMMetrics: {}, container.PressureMetrics: {},
	}
	interval, dynamic := longestInterval, true
	watched, err := manager.New(
		memory.New(kept, nil), sysfs.NewRealSysFs(), manager.HousekeepingConfig{Interval: &interval, AllowDynamic: &dynamic},
		included, http.DefaultClient, []string{podsFolder}, nil, "", 0)
	if err != nil {
		log.Fatal(err)
	}
	if err := watched.Start(); err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	options := v2.RequestOptions{IdType: v2.TypeName, Count: 1, Recursive: true}
	registry.MustRegister(metrics.NewPrometheusCollector(watched, labels, included, clock.RealClock{}, options))
	http.Handle("/metrics/cadvisor", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	log.SetOutput(os.Stderr)
	log.Fatal(http.ListenAndServe(*address, nil))
}
