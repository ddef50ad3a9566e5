// Commands for a terminal. Every word is quoted, so that a shell expands nothing in it.

import { Copy } from 'lucide-react'
import { shellQuoted } from '../../src/domain/plan-rules/shell-words.ts'
import { shownText } from '../data/shown.ts'
import { toast } from './toasts.tsx'

export const commandOf = (...words: readonly string[]): string => ['planfold', ...words.map(shellQuoted)].join(' ')

export const copyCommand = (command: string): void =>
  void navigator.clipboard.writeText(command).then(() => toast('Command copied'))

export function CommandLine({ command }: { readonly command: string }) {
  return (
    <div className="command-line">
      <code className="code">{shownText(command)}</code>
      <button type="button" className="icon-button" aria-label="Copy command" onClick={() => copyCommand(command)}>
        <Copy size={14} aria-hidden="true" />
      </button>
    </div>
  )
}

const isMac = /Mac|iPhone|iPad/.test(navigator.platform)
/** A shortcut with the modifier of this machine: ⌘K or Ctrl K. */
export const withKey = (key: string): string => (isMac ? `⌘${key}` : `Ctrl ${key}`)
