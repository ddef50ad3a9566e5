// One act on snapshots, in a process of its own that will be killed: on the built package, with a real content store.
//
//   node snapshots-driver.mjs '{"act": …, "root": …, "stateDir": …}'      prints what it answered, one JSON value

import { pathToFileURL } from 'node:url'

const dist = process.env.PLANFOLD_DIST ?? new URL('../../dist', import.meta.url).pathname
const from = path => import(pathToFileURL(`${dist}/${path}`).href)
const { BlobsFiles } = await from('stores/blobs/blobs.js')
const { StoreSqlite } = await from('stores/sqlite/store-sqlite.js')
const { thisHost } = await from('stores/leases/host.js')
const { openSnapshots } = await from('workspace/snapshots/snapshots.js')
const { openWorkspace } = await from('workspace/scope/scope-workspace.js')

const { act, root, stateDir, ...given } = JSON.parse(process.argv[2])
let number = 0
const newId = () => `${process.pid}-${++number}`
const blobs = new BlobsFiles({ folder: `${stateDir}/blobs`, now: Date.now, newId })
const snapshots = openSnapshots({ root, stateDir, blobs, now: Date.now, pauseMs: 0 })

const ACTS = {
  capture: () => snapshots.snapshot(),
  rollback: () => snapshots.rollback(given.target, given.writeSet, { about: 'killed' }),
  materialise: () => snapshots.materialise(given.target, given.folder),
  restore: () => openWorkspace({ root, stateDir, blobs, now: Date.now }).restore(given.manifest),
  async collect() {
    const clock = { now: Date.now, monotonic: () => performance.now() }
    const store = await StoreSqlite.open({
      folder: stateDir,
      clock,
      host: thisHost(process.pid),
      newId,
      heartbeat: 'manual',
    })
    const pruned = await store.prune({ before: given.before, dryRun: false })
    await store.close()
    return { ok: true, ...pruned }
  },
}
console.log(JSON.stringify(await ACTS[act]()))
