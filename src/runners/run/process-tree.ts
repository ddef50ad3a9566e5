// Ends a process tree completely, including processes that called setsid or nohup, or were adopted by init. On Linux a process belongs to
// the tree when it has the marks in its environment, is in the leader's session or group, or descends from one that does; on other
// systems only the leader's group is known.
//
//   ask (SIGTERM) ──grace over or all gone──▶ kill (SIGKILL) ──▶ check again, until none is left or the rounds are used up

import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { orElse } from '../../domain/json.ts'
import { hasCode } from '../../safety/safety-refusal.ts'
import type { AttemptMark, Ended, ProcessTree } from '../runner.ts'
import { hasMarks, listProcesses, lookUpProcess, type Process } from './process-table.ts'

interface Wanted {
  readonly marks: readonly string[]
  readonly leader: AttemptMark['leader']
}

const POLL_MS = 20
const KILL_ROUNDS_MAX = 150

export function processTree(): ProcessTree {
  return {
    endOwner: owner => end({ marks: [`PLANFOLD_OWNER=${owner}`], leader: null }, 0),
    endAttempt: (mark, options) => end({ marks: marksOf(mark), leader: mark.leader }, options?.graceMs ?? 0),
  }
}

const marksOf = (mark: Omit<AttemptMark, 'leader'>): readonly string[] => [
  `PLANFOLD_OWNER=${mark.owner}`,
  `PLANFOLD_KEY=${mark.key}`,
  `PLANFOLD_ATTEMPT=${mark.attempt}`,
  ...(mark.tried === undefined ? [] : [`PLANFOLD_TRY=${mark.tried}`]),
]

async function end(wanted: Wanted, graceMs: number): Promise<Ended> {
  const seen = new Set<string>()
  const look = () => {
    const members = membersOf(wanted)
    for (const member of members) seen.add(`${member.pid} ${member.start}`)
    return members
  }
  if (graceMs > 0) {
    send(look(), wanted, 'SIGTERM')
    for (let waited = 0; waited < graceMs && look().length > 0; waited += POLL_MS) await sleep(POLL_MS)
  }
  let members = look()
  for (let round = 0; members.length > 0 && round < KILL_ROUNDS_MAX; round++) {
    send(members, wanted, 'SIGKILL')
    await sleep(round === 0 ? 1 : POLL_MS)
    members = look()
  }
  return { ended: seen.size - members.length, left: members.length }
}

/** The live members of the tree. Never this process or its ancestors. */
function membersOf({ marks, leader }: Wanted): readonly Process[] {
  if (!hasProc()) return leader !== null && groupLives(leader.pid) ? [groupAsProcess(leader.pid)] : []
  const all = listProcesses()
  const mine = new Set<number>()
  for (let pid = process.pid; pid > 0 && !mine.has(pid); pid = all.get(pid)?.parent ?? 0) mine.add(pid)
  // Older processes cannot descend from the leader, so their environments need not be read.
  const since = leader?.start ?? 0
  const members = new Map<number, Process>()
  for (const one of all.values()) {
    if (mine.has(one.pid) || one.start < since || isKernelThread(one)) continue
    if (leader?.pid === one.session || leader?.pid === one.group || hasMarks(one.pid, marks)) members.set(one.pid, one)
  }
  addDescendants(members, all, mine)
  return [...members.values()]
}

function addDescendants(
  members: Map<number, Process>,
  all: ReadonlyMap<number, Process>,
  mine: ReadonlySet<number>,
): void {
  for (let grown = members.size > 0; grown; ) {
    grown = false
    for (const one of all.values()) {
      if (!members.has(one.parent) || members.has(one.pid) || mine.has(one.pid)) continue
      members.set(one.pid, one)
      grown = true
    }
  }
}

function send(members: readonly Process[], { leader }: Wanted, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (signal === 'SIGTERM' && leader?.isWall === true) {
    // Asks only the processes inside to end. Bubblewrap, which leads the group, stays until they have: its end would kill them.
    for (const member of members)
      if (member.group !== leader.pid && lookUpProcess(member.pid)?.start === member.start) kill(member.pid, signal)
    return
  }
  // The whole group first, so that it cannot fork between two kills.
  if (leader !== null && members.some(member => member.group === leader.pid)) kill(-leader.pid, signal)
  for (const member of members) {
    if (member.group === leader?.pid) continue
    // The pid may have been reused since the list was read.
    if (lookUpProcess(member.pid)?.start === member.start) kill(member.pid, signal)
  }
}

const kill = (pid: number, signal: NodeJS.Signals | 0): boolean =>
  orElse(() => process.kill(pid, signal), false, hasCode('ESRCH', 'EPERM'))

const hasProc = (): boolean => process.platform === 'linux' && existsSync('/proc/self/stat')
const isKernelThread = (one: Process): boolean => one.pid === 2 || one.parent === 2
const groupLives = (leader: number): boolean => kill(-leader, 0)
const groupAsProcess = (leader: number): Process => ({
  pid: leader,
  parent: 0,
  group: leader,
  session: leader,
  start: 0,
})
