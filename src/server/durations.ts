// How long answers took, as a histogram of Prometheus. It is counted here and not by the library, which for every answer makes a name
// of its labels anew; a service that answers ten thousand times a second only adds to numbers.

export interface Durations {
  /** `route` is a path of the table; the labels are closed words, so that they need no escaping. */
  add(method: string, route: string, status: number, seconds: number): void
  /** In the text format of Prometheus. */
  text(): string
}

interface Series {
  readonly labels: string
  /** How many fell into each bucket, and into none of those before. */
  readonly counts: number[]
  count: number
  sum: number
}

export function openDurations(name: string, help: string, bounds: readonly number[]): Durations {
  const all = new Map<string, Map<string, Map<number, Series>>>()
  const seriesOf = (method: string, route: string, status: number): Series => {
    const known = all.get(route)?.get(method)?.get(status)
    if (known !== undefined) return known
    const labels = `method="${method}",route="${route}",status="${status}"`
    const made: Series = { labels, counts: bounds.map(() => 0), count: 0, sum: 0 }
    const methods = all.get(route) ?? new Map<string, Map<number, Series>>()
    all.set(route, methods)
    methods.set(method, (methods.get(method) ?? new Map<number, Series>()).set(status, made))
    return made
  }
  return {
    add: (method, route, status, seconds) => {
      const series = seriesOf(method, route, status)
      series.count++
      series.sum += seconds
      for (let at = 0; at < bounds.length; at++) {
        if (seconds > bounds[at]!) continue
        series.counts[at]!++
        return
      }
    },
    text: () => {
      const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`]
      for (const methods of all.values())
        for (const statuses of methods.values()) for (const series of statuses.values()) lines.push(...linesOf(series))
      return `${lines.join('\n')}\n`
    },
  }

  function linesOf({ labels, counts, count, sum }: Series): readonly string[] {
    let below = 0
    return [
      ...bounds.map((bound, at) => {
        below += counts[at]!
        return `${name}_bucket{le="${bound}",${labels}} ${below}`
      }),
      `${name}_bucket{le="+Inf",${labels}} ${count}`,
      `${name}_sum{${labels}} ${sum}`,
      `${name}_count{${labels}} ${count}`,
    ]
  }
}
