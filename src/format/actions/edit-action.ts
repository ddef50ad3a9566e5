// `edit`: changes to files, each in one of six forms.

import { z } from 'zod'
import { isMap } from '../../domain/json.ts'
import type { Action, Edit } from '../../domain/plan.ts'
import { codec, flag, printedLast, record, variants } from '../plan/codec.ts'
import * as value from '../plan/schema-values.ts'
import type { DocumentFault, Path } from '../text/diagnostic.ts'
import { type ActionFormat, isComputed, keyed, type RuleContext } from './action-format.ts'

type EditAction = Extract<Action, { readonly type: 'edit' }>
type EditOf<T extends Edit['type']> = Extract<Edit, { readonly type: T }>

const pinned = { file: value.line, sha256: value.sha256.optional() }
const last = ['sha256']
const edit = variants<Edit, 'type'>('type', {
  create: record<EditOf<'create'>>()(
    { content: 'create' },
    { ...pinned, create: z.string(), mode: value.mode.optional(), overwrite: flag.optional() },
    { always: { type: 'create' }, last },
  ),
  replace: record<EditOf<'replace'>>()(
    {},
    { ...pinned, find: z.string().min(1), replace: z.string(), all: flag.optional() },
    { always: { type: 'replace' }, last },
  ),
  patch: record<EditOf<'patch'>>()(
    { diff: 'patch' },
    { ...pinned, patch: value.line },
    { always: { type: 'patch' }, last },
  ),
  move: record<EditOf<'move'>>()({ to: 'move' }, { ...pinned, move: value.line }, { always: { type: 'move' }, last }),
  delete: codec(
    printedLast(z.strictObject({ ...pinned, delete: z.literal(true) }), last),
    ({ delete: _, ...rest }) => ({ type: 'delete', ...rest }) as EditOf<'delete'>,
    ({ type: _, ...rest }) => ({ ...rest, delete: true }),
  ),
  chmod: record<EditOf<'chmod'>>()(
    { mode: 'chmod' },
    { ...pinned, chmod: value.mode },
    { always: { type: 'chmod' }, last },
  ),
})
const edits = codec(
  z.union([edit, z.array(edit).min(1)]),
  (written): readonly Edit[] => ('type' in written ? [written] : written),
  list => list,
).meta({ description: 'Changes to files, applied together.', examples: [{ file: 'notes.md', create: 'text' }] })

export const EDIT: ActionFormat<EditAction> = {
  ...keyed<EditAction>('edit', { edits: ['edit', edits] }),
  undo: ['edit'],
  *rules(task, path, { written, isUndo }) {
    const list = Array.isArray(task.edit)
      ? task.edit.map((one, index) => [one, [...path, 'edit', index]] as const)
      : [[task.edit, [...path, 'edit']] as const]
    for (const [one, at] of list) yield* decimalModes(one, at, written)
    // The scope is captured before the edit, so a computed file name needs a declared scope.
    if (isUndo || Object.hasOwn(task, 'write')) return
    if (!list.some(([one]) => isMap(one) && (isComputed(one.file) || isComputed(one.move)))) return
    yield {
      path: [...path, 'edit'],
      atKey: true,
      message: 'an edit of a computed file needs a declared scope',
      hint: "add 'write:' with the files it may touch",
    }
  },
  words: ({ edits: list }, { codes }) => `edits ${codes(list.map(({ file }) => file))}`,
}

/** YAML reads a bare 755 as decimal, not as rwxr-xr-x. */
function* decimalModes(edit: unknown, path: Path, written: RuleContext['written']): Generator<DocumentFault> {
  if (!isMap(edit)) return
  for (const key of ['mode', 'chmod']) {
    const text = typeof edit[key] === 'number' ? written([...path, key]) : null
    if (text === null || /^0o/.test(text)) continue
    yield {
      path: [...path, key],
      message: `the file mode ${text} is not written in octal`,
      hint: `put it in quotes: "${text}"`,
    }
  }
}
