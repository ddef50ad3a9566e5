// A unified diff, line by line, with signs as well as colours. Long ones are cut until somebody asks for all of it.

import { useMemo, useState } from 'react'

const LINES_MAX = 400

interface DiffLine {
  readonly kind: 'file' | 'hunk' | 'add' | 'remove' | 'same'
  readonly text: string
  readonly before: number | null
  readonly after: number | null
}

export function readDiff(text: string): readonly DiffLine[] {
  let [before, after] = [0, 0]
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line): DiffLine => {
      const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line)
      if (hunk !== null) {
        ;[before, after] = [Number(hunk[1]), Number(hunk[2])]
        return { kind: 'hunk', text: line, before: null, after: null }
      }
      if (/^(diff |index |--- |\+\+\+ |new file|deleted file|old mode|new mode|=====)/.test(line))
        return { kind: 'file', text: line, before: null, after: null }
      if (line.startsWith('+')) return { kind: 'add', text: line.slice(1), before: null, after: after++ }
      if (line.startsWith('-')) return { kind: 'remove', text: line.slice(1), before: before++, after: null }
      return { kind: 'same', text: line.replace(/^ /, ''), before: before++, after: after++ }
    })
}

export function Diff({ text }: { readonly text: string }) {
  const lines = useMemo(() => readDiff(text), [text])
  const [isAll, setAll] = useState(false)
  const shown = isAll ? lines : lines.slice(0, LINES_MAX)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys.
    // biome-ignore lint/a11y/useSemanticElements: a section would be a heading more in every drawer.
    <div className="diff" tabIndex={0} role="region" aria-label="Changes">
      <table>
        <tbody>
          {shown.map((line, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines are in order.
            <tr key={at} className={line.kind}>
              <td className="num">{line.after ?? line.before ?? ''}</td>
              <td>
                <code>
                  {line.kind === 'add' ? '+ ' : line.kind === 'remove' ? '− ' : line.kind === 'same' ? '  ' : ''}
                  {line.text}
                </code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {lines.length > shown.length && (
        <button type="button" className="button small" onClick={() => setAll(true)}>
          Show {lines.length - shown.length} more lines
        </button>
      )}
    </div>
  )
}
