// `edit`: changes to files, made by the engine itself, all or none.

import type { Edit } from '../plan-values.ts'
import { type ActionFacts, PLAIN_OUTCOMES } from './action-facts.ts'

export const EDIT: ActionFacts<{ readonly type: 'edit'; readonly edits: readonly Edit[] }> = {
  effect: () => 'workspace',
  acts: true,
  changesFiles: true,
  writes: true,
  keepsToScope: true,
  files: ({ action }) => filesOf(action.edits),
  fileWords: { does: 'edits', key: 'edit' },
  edits: ({ edits }) => edits,
  fields: { edits: 'texts' },
  outputs: () => ['files'],
  outcomes: () => PLAIN_OUTCOMES,
  named: ({ edits }) => edits.flatMap(namesIn),
  line: () => 'edits files',
  words: 'edits files',
  shown: ({ edits }) => ({
    head: 'Edits',
    rows: edits.map(edit => ['file' in edit ? edit.file : JSON.stringify(edit), edit.type]),
  }),
  audited: ({ edits }) => ({ edits: edits.map(({ type, file }) => `${type} ${file}`) }),
}

const namesIn = (edit: Edit): readonly string[] => (edit.type === 'move' ? [edit.file, edit.to] : [edit.file])

const filesOf = (edits: readonly Edit[]): readonly string[] => [...new Set(edits.flatMap(namesIn))]
