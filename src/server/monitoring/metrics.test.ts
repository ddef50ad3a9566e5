// How long answers took: what is told adds up.

import { expect, test } from 'vitest'
import { openDurations } from './metrics.ts'

test('each answer is counted once, in every bucket it fits in, under its own labels', () => {
  const durations = openDurations('took_seconds', 'How long.', [0.01, 0.5])
  for (const seconds of [0.01, 0.25, 0.25, 3]) durations.add('GET', '/plans/:plan', 200, seconds)
  durations.add('GET', '/plans/:plan', 404, 0.001)
  durations.add('POST', '/plans/:plan', 200, 0.5)
  expect(durations.text()).toBe(`# HELP took_seconds How long.
# TYPE took_seconds histogram
took_seconds_bucket{le="0.01",method="GET",route="/plans/:plan",status="200"} 1
took_seconds_bucket{le="0.5",method="GET",route="/plans/:plan",status="200"} 3
took_seconds_bucket{le="+Inf",method="GET",route="/plans/:plan",status="200"} 4
took_seconds_sum{method="GET",route="/plans/:plan",status="200"} 3.51
took_seconds_count{method="GET",route="/plans/:plan",status="200"} 4
took_seconds_bucket{le="0.01",method="GET",route="/plans/:plan",status="404"} 1
took_seconds_bucket{le="0.5",method="GET",route="/plans/:plan",status="404"} 1
took_seconds_bucket{le="+Inf",method="GET",route="/plans/:plan",status="404"} 1
took_seconds_sum{method="GET",route="/plans/:plan",status="404"} 0.001
took_seconds_count{method="GET",route="/plans/:plan",status="404"} 1
took_seconds_bucket{le="0.01",method="POST",route="/plans/:plan",status="200"} 0
took_seconds_bucket{le="0.5",method="POST",route="/plans/:plan",status="200"} 1
took_seconds_bucket{le="+Inf",method="POST",route="/plans/:plan",status="200"} 1
took_seconds_sum{method="POST",route="/plans/:plan",status="200"} 0.5
took_seconds_count{method="POST",route="/plans/:plan",status="200"} 1
`)
})
