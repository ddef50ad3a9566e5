// How long answers took: what is told adds up.

import { expect, test } from 'vitest'
import { openMeter } from './metrics.ts'

test('each answer is counted once, in every bucket it fits in, under its own labels', async () => {
  const meter = openMeter('1.2.3')
  for (const ms of [10, 250, 250, 30_000]) meter.answered('GET', '/plans/:plan', 200, ms)
  meter.answered('GET', '/plans/:plan', 404, 1)
  meter.answered('BREW', null, 404, 1)
  const lines = (await meter.text()).data.split('\n')
  const of = (labels: string, kinds = /bucket|sum|count/): readonly string[] =>
    lines.filter(line => line.includes(labels) && kinds.test(line))
  const got = 'method="GET",route="/plans/:plan",status="200"'
  const name = 'planfold_http_request_duration_seconds'
  expect(of(got, /le="0.005"|le="0.01"|le="0.25"|le="10"|le="\+Inf"|sum|count/)).toEqual([
    `${name}_bucket{le="0.005",${got}} 0`,
    `${name}_bucket{le="0.01",${got}} 1`,
    `${name}_bucket{le="0.25",${got}} 3`,
    `${name}_bucket{le="10",${got}} 3`,
    `${name}_bucket{le="+Inf",${got}} 4`,
    `${name}_sum{${got}} 30.51`,
    `${name}_count{${got}} 4`,
  ])
  expect(of('status="404"', /count/)).toEqual([
    `${name}_count{method="GET",route="/plans/:plan",status="404"} 1`,
    `${name}_count{method="other",route="none",status="404"} 1`,
  ])
})
