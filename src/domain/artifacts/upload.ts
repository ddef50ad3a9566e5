// Uploads of a claimed task: artifacts that it reports before it ends, in parts. The parts are in the journal, so an upload continues where
// it stopped, even after a crash. Each upload has the hash of the whole, so parts of two contents are never mixed.

import type { CommandOf } from '../command.ts'
import type { Upload } from '../event.ts'
import { OUTPUT_MAX_BYTES, UPLOAD_PART_MAX_BYTES } from '../limits.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { type DecisionDraft, emit, unknownTask } from '../rules/decision.ts'
import { claimNotHeld } from '../rules/task-orders.ts'
import type { TaskState } from '../state/state.ts'
import { readOutputType } from './output-type.ts'

/** At once in one attempt. */
const UPLOADS_MAX = 1_000

export function upload(draft: DecisionDraft, command: CommandOf<'upload'>): Refusal | undefined {
  const task = draft.state.tasks.get(command.task)
  if (task === undefined) return unknownTask(draft, command.task)
  if (task.claim === null || task.claim.token !== command.token) return claimNotHeld(command.task)
  const refusal = uploadObjection(task, command)
  if (refusal !== null) return refusal
  const { name, sha256, bytes, from, part, partBytes } = command
  // The reply to the same part was lost.
  if (isRepeated(task, command)) return undefined
  const { visit, attempt } = task
  emit(draft, {
    ...{ type: 'artifact.uploaded', task: command.task, visit, attempt },
    ...{ name, sha256, bytes, from, part, partBytes },
  })
  return undefined
}

type Part = Pick<CommandOf<'upload'>, 'name' | 'sha256' | 'bytes' | 'from' | 'part' | 'partBytes'>

/** Why a part cannot be taken; asked before its bytes are stored, and again when it is recorded. */
export function uploadObjection(task: TaskState, { name, sha256, bytes, from, partBytes, part }: Part): Refusal | null {
  if (!/^[A-Za-z][\w.-]{0,99}$/.test(name) || RESERVED.has(name))
    return refuse(
      'invalid',
      `${JSON.stringify(name.slice(0, 100))} cannot be the name of an artifact`,
      'use letters, digits, `_`, `-` and `.`, and begin with a letter',
    )
  const type = Object.hasOwn(task.definition.outputs ?? {}, name) ? task.definition.outputs![name]!.type : undefined
  const checked = type === undefined ? null : readOutputType(type)
  if (checked !== null && checked.is !== 'file' && checked.is !== 'text')
    return refuse(
      'invalid',
      `output '${name}' is declared as ${type}`,
      'report it as a value, with the end of the task',
    )
  if (bytes > OUTPUT_MAX_BYTES)
    return refuse(
      'limit',
      `'${name}' has ${megabytes(bytes)}, and an artifact at most ${megabytes(OUTPUT_MAX_BYTES)}`,
      'split or compress it, or store it elsewhere and report a link: type url',
    )
  if (partBytes > UPLOAD_PART_MAX_BYTES)
    return refuse('limit', `a part has at most ${megabytes(UPLOAD_PART_MAX_BYTES)}`, 'send smaller parts')
  if (from + partBytes > bytes || (partBytes === 0 && bytes > 0))
    return refuse(
      'invalid',
      `the part ends at ${from + partBytes} of ${bytes} bytes`,
      'send the bytes of the file, in order',
    )
  const known = uploadOf(task, name)
  // The first part begins anew.
  if (from === 0)
    return known === undefined && (task.uploads?.length ?? 0) >= UPLOADS_MAX
      ? refuse('limit', `an attempt uploads at most ${UPLOADS_MAX} artifacts`, 'put them into one archive')
      : null
  if (known !== undefined && (known.sha256 !== sha256 || known.bytes !== bytes))
    return refuse(
      'conflict',
      `'${name}' is being uploaded with other content: the file has changed since its first part, or someone else uploads it`,
      'begin again with the first part',
    )
  if (isRepeated(task, { name, from, partBytes, part })) return null
  const received = known?.received ?? 0
  return received === from
    ? null
    : refuse('conflict', `of '${name}' there are ${received} bytes, not ${from}`, `continue from ${received}`)
}

export const uploadOf = ({ uploads = [] }: TaskState, name: string): Upload | undefined =>
  uploads.find(one => one.name === name)

function isRepeated(
  task: TaskState,
  { name, from, partBytes, part }: Pick<Part, 'name' | 'from' | 'partBytes' | 'part'>,
) {
  const known = uploadOf(task, name)
  return known !== undefined && from > 0 && known.received === from + partBytes && known.parts.at(-1) === part
}

/** Names that would collide with properties of JavaScript objects. */
const RESERVED: ReadonlySet<string> = new Set(['constructor', 'prototype'])

const megabytes = (bytes: number): string => `${Math.ceil((bytes / 1_048_576) * 10) / 10} MB`
