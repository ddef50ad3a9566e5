// Whoever comes after a kill, and stays: one process that goes on with one workspace after the other, so that not each of them waits until
// the package is loaded again. It has never seen a workspace before it is told of it; it knows what is on the disk and no more.
//
//   {"number":1,"act":"drive","workspace":…}      on its input, one a line; answers
//   {"number":1,"said":{"ack":3}}                 for each line that the act says, then
//   {"number":1,"code":0}                         or, with what went wrong: {"number":1,"code":1,"why":…}

import { createInterface } from 'node:readline'
import { drive } from './driver.mjs'
import { goBack } from './rollback-driver.mjs'

const ACTS = { drive, goBack }
const tell = value => process.stdout.write(`${JSON.stringify(value)}\n`)

for await (const line of createInterface({ input: process.stdin })) void perform(JSON.parse(line))

async function perform({ number, act, environment, ...given }) {
  try {
    await ACTS[act]({ ...given, environment: { ...process.env, ...environment } }, said => tell({ number, said }))
    tell({ number, code: 0 })
  } catch (error) {
    tell({ number, code: 1, why: error.stack })
  }
}
