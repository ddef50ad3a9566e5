// A control group for one sandbox, where the user may create one: then the kernel enforces the limits exactly. It is created beside or
// below the group of this process, and only where memory and processes are already controlled: settings of others stay as they are. With
// version 1 only the process limit is used, for root, whom no other limit stops from forking. Otherwise, usually for ordinary users, only
// the watcher enforces limits.

import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { orElse } from '../../domain/json.ts'
import { isWithin } from '../find-program.ts'
import type { SandboxLimits } from './sandbox.ts'

export interface ControlGroup {
  /** Moves a process into the group, with its future children. False if that failed. */
  enter(pid: number): boolean
  /** Asynchronous: the kernel takes some 15 ms for the first process, and hardly any time for later ones. */
  enterLater(pid: number): Promise<void>
  excess(): 'memory' | 'processes' | null
  remove(): void
}

export interface ControlGroupPlace {
  readonly mount: string
  readonly own: string
}

const USUAL: ControlGroupPlace = { mount: '/sys/fs/cgroup', own: '/proc/self/cgroup' }
const NAME = 'planfold-'
const REMOVE_AGAIN_MS = 1_000
let made = 0

export function makeControlGroup(limits: SandboxLimits, place = USUAL): ControlGroup | null {
  for (const { parent, settings } of [...unifiedIn(place, limits), ...processesIn(place, limits)]) {
    sweep(parent)
    const folder = join(parent, `${NAME}${process.pid}-${++made}`)
    if (!isWritten(() => mkdirSync(folder))) continue
    try {
      for (const [file, value] of settings) writeFileSync(join(folder, file), value)
      const members = join(folder, 'cgroup.procs')
      return {
        enter: pid => isWritten(() => writeFileSync(members, String(pid))),
        enterLater: pid => writeFile(members, String(pid)).catch(() => {}),
        excess: () => excessIn(folder),
        remove: () => remove(folder),
      }
    } catch {
      remove(folder)
    }
  }
  return null
}

interface Candidate {
  readonly parent: string
  readonly settings: readonly (readonly [file: string, value: string])[]
}

function unifiedIn({ mount, own }: ControlGroupPlace, { memoryBytes, processes }: SandboxLimits): readonly Candidate[] {
  if (!existsSync(join(mount, 'cgroup.controllers'))) return []
  const named = /^0::(\/.*)$/m.exec(readOrEmpty(own))?.[1]
  if (named === undefined) return []
  const here = join(mount, named)
  const settings = [
    ['memory.max', String(memoryBytes)],
    // All processes are killed together, because half a command is useless.
    ['memory.oom.group', '1'],
    ['pids.max', String(processes)],
  ] as const
  return [here, dirname(here)]
    .filter(folder => isWithin(folder, mount) && controls(folder))
    .map(parent => ({ parent, settings }))
}

/** Version 1 has a separate tree for processes. */
function processesIn({ mount, own }: ControlGroupPlace, { processes }: SandboxLimits): readonly Candidate[] {
  const named = /^\d+:pids:(\/.*)$/m.exec(readOrEmpty(own))?.[1]
  const parent = named === undefined ? null : join(mount, 'pids', named)
  if (parent === null || !existsSync(join(parent, 'cgroup.procs'))) return []
  return [{ parent, settings: [['pids.max', String(processes)]] }]
}

const controls = (folder: string): boolean => {
  const given = readOrEmpty(join(folder, 'cgroup.subtree_control')).split(/\s+/)
  return given.includes('memory') && given.includes('pids')
}

function excessIn(folder: string): 'memory' | 'processes' | null {
  if (counted(join(folder, 'memory.events'), 'oom_kill') > 0) return 'memory'
  return counted(join(folder, 'pids.events'), 'max') > 0 ? 'processes' : null
}

const counted = (file: string, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(readOrEmpty(file))?.[1] ?? 0)

/** A group with processes cannot be removed; they are about to end. */
function remove(folder: string): void {
  if (!isRemoved(folder)) setTimeout(() => isRemoved(folder), REMOVE_AGAIN_MS).unref()
}

const isRemoved = (folder: string): boolean => isWritten(() => rmdirSync(folder))

const isWritten = (act: () => void): boolean =>
  orElse(() => {
    act()
    return true
  }, false)

/** Groups of killed processes of ours. Only empty ones can be removed. */
function sweep(parent: string): void {
  for (const name of namesIn(parent)) {
    const maker = name.startsWith(NAME) ? Number(name.slice(NAME.length).split('-')[0]) : 0
    if (maker > 0 && !existsSync(`/proc/${maker}`)) isRemoved(join(parent, name))
  }
}

const namesIn = (folder: string): readonly string[] => orElse(() => readdirSync(folder), [])

const readOrEmpty = (path: string): string => orElse(() => readFileSync(path, 'utf8'), '')
