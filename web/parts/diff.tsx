// A unified diff, line by line or side by side, with signs as well as colours. Only the lines in view are in the document. In a
// review, each line takes a comment.

import '../styles/diff.css'
import { Columns2, MessageSquarePlus, Rows2 } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { useRowWindow } from './row-window.ts'

const LINE_HEIGHT = 18

/** Comments on single lines; the key is `path:line`. */
export interface LineComments {
  readonly texts: ReadonlyMap<string, string>
  readonly say: (place: string, text: string | null) => void
}

export type Mode = 'inline' | 'split'
const KEY = 'planfold-diff'

/** The mode is remembered in this browser. */
export function useDiffMode(): readonly [Mode, (mode: Mode) => void] {
  const [mode, set] = useState<Mode>(() => (localStorage.getItem(KEY) === 'split' ? 'split' : 'inline'))
  return [
    mode,
    next => {
      localStorage.setItem(KEY, next)
      set(next)
    },
  ]
}

export function DiffModes({ mode, onMode }: { readonly mode: Mode; readonly onMode: (mode: Mode) => void }) {
  return (
    <fieldset className="diff-modes" aria-label="Diff view">
      <button type="button" aria-pressed={mode === 'inline'} onClick={() => onMode('inline')} title="Line by line">
        <Rows2 size={13} aria-hidden="true" />
        <span>Inline</span>
      </button>
      <button type="button" aria-pressed={mode === 'split'} onClick={() => onMode('split')} title="Side by side">
        <Columns2 size={13} aria-hidden="true" />
        <span>Side by side</span>
      </button>
    </fieldset>
  )
}

export function Diff({
  text,
  mode = 'inline',
  label = 'Changes',
  path = '',
  comments,
}: {
  readonly text: string
  readonly mode?: Mode
  readonly label?: string
  readonly path?: string
  readonly comments?: LineComments
}) {
  const lines = useMemo(() => readDiff(text).filter(({ kind }) => path === '' || kind !== 'file'), [text, path])
  const pairs = useMemo(() => (mode === 'split' ? pairsOf(lines) : []), [lines, mode])
  const [open, setOpen] = useState<string | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const table = useRef<HTMLTableElement>(null)
  const rows = mode === 'split' ? pairs.length : lines.length
  const { rows: windowed, items, padding } = useRowWindow({ box, list: table, count: rows, estimate: LINE_HEIGHT })
  const column = { comments, path, open, setOpen }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by keys.
    // biome-ignore lint/a11y/useSemanticElements: a section would be a heading more in every drawer.
    <div ref={box} className={`diff ${mode}`} tabIndex={0} role="region" aria-label={label}>
      <table ref={table}>
        <Spacer height={padding.paddingTop} />
        {items.map(({ index }) => (
          <tbody key={index} ref={windowed.measureElement} data-index={index}>
            {mode === 'inline' ? (
              <InlineLine line={lines[index]!} {...column} />
            ) : (
              <SplitLine left={pairs[index]![0]} right={pairs[index]![1]} {...column} />
            )}
          </tbody>
        ))}
        <Spacer height={padding.paddingBottom} />
      </table>
    </div>
  )
}

/** Stands for the lines that are not in view. */
const Spacer = ({ height }: { readonly height: number }) =>
  height === 0 ? null : (
    <tbody aria-hidden="true">
      <tr style={{ height }} />
    </tbody>
  )

function InlineLine({ line, ...column }: Commented) {
  return (
    <>
      <tr className={line.kind}>
        <td className="num">
          {line.after ?? line.before ?? ''}
          <CommentButton line={line} {...column} />
        </td>
        <td>
          <code>{signed(line)}</code>
        </td>
      </tr>
      <CommentRow line={line} width={2} {...column} />
    </>
  )
}

function SplitLine({
  left,
  right,
  ...column
}: Omit<Commented, 'line'> & { readonly left: DiffLine | null; readonly right: DiffLine | null }) {
  return (
    <>
      {left !== null && (left.kind === 'hunk' || left.kind === 'file') ? (
        <tr className={left.kind}>
          <td className="num" />
          <td colSpan={3}>
            <code>{left.text}</code>
          </td>
        </tr>
      ) : (
        <tr>
          <td className={`num ${left?.kind ?? 'none'}`}>{left?.before ?? ''}</td>
          <td className={left?.kind ?? 'none'}>
            <code>{left === null ? '' : signed(left)}</code>
          </td>
          <td className={`num ${right?.kind ?? 'none'}`}>
            {right?.after ?? ''}
            {right !== null && <CommentButton line={right} {...column} />}
          </td>
          <td className={right?.kind ?? 'none'}>
            <code>{right === null ? '' : signed(right)}</code>
          </td>
        </tr>
      )}
      {right !== null && <CommentRow line={right} width={4} {...column} />}
    </>
  )
}

const signed = ({ kind, text }: DiffLine): string =>
  `${kind === 'add' ? '+ ' : kind === 'remove' ? '− ' : kind === 'same' ? '  ' : ''}${text}`

interface Commented {
  readonly line: DiffLine
  readonly path: string
  readonly comments: LineComments | undefined
  readonly open: string | null
  readonly setOpen: (place: string | null) => void
}

/** A removed line is identified by its old number. */
const placeOf = (path: string, { before, after, kind }: DiffLine): string =>
  kind === 'remove' ? `${path}:${before} (removed)` : `${path}:${after}`

function CommentButton({ line, path, comments, open, setOpen }: Commented) {
  if (comments === undefined || line.kind === 'hunk' || line.kind === 'file') return null
  const place = placeOf(path, line)
  return (
    <button
      type="button"
      className={comments.texts.has(place) ? 'line-comment said' : 'line-comment'}
      aria-label={`Comment on ${place}`}
      onClick={() => setOpen(open === place ? null : place)}
    >
      <MessageSquarePlus size={12} aria-hidden="true" />
    </button>
  )
}

function CommentRow({ line, path, comments, open, width }: Commented & { readonly width: number }) {
  if (comments === undefined) return null
  const place = placeOf(path, line)
  const said = comments.texts.get(place)
  if (open !== place && said === undefined) return null
  return (
    <tr className="comment-row">
      <td colSpan={width}>
        <textarea
          className="field"
          rows={2}
          // biome-ignore lint/a11y/noAutofocus: the person just opened it.
          autoFocus={open === place}
          aria-label={`What is to be changed in ${place}`}
          placeholder="What should change here?"
          value={said ?? ''}
          onChange={event => comments.say(place, event.target.value === '' ? null : event.target.value)}
        />
      </td>
    </tr>
  )
}

// Parses a unified diff into lines, and pairs them side by side.

interface DiffLine {
  readonly kind: 'file' | 'hunk' | 'add' | 'remove' | 'same'
  readonly text: string
  readonly before: number | null
  readonly after: number | null
}

export function readDiff(text: string): readonly DiffLine[] {
  let [before, after] = [0, 0]
  let isInHunk = false
  /** Inside a hunk without line numbers. */
  let isPlaceless = false
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line): DiffLine => {
      const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line)
      if (hunk !== null) {
        ;[before, after] = [Number(hunk[1]), Number(hunk[2])]
        isInHunk = true
        isPlaceless = false
        return { kind: 'hunk', text: line, before: null, after: null }
      }
      if (/^@@ .* @@$/.test(line)) {
        isInHunk = true
        isPlaceless = true
        return { kind: 'hunk', text: line, before: null, after: null }
      }
      if (/^(diff |index |new file|deleted file|old mode|new mode|=====)/.test(line)) isInHunk = false
      // A removed line may begin with two dashes, so file headers are only recognised outside a hunk.
      if (!isInHunk) return { kind: 'file', text: line, before: null, after: null }
      if (line.startsWith('\\')) return { kind: 'file', text: line, before: null, after: null }
      const none = { before: null, after: null }
      if (line.startsWith('+'))
        return { kind: 'add', text: line.slice(1), ...(isPlaceless ? none : { before: null, after: after++ }) }
      if (line.startsWith('-'))
        return { kind: 'remove', text: line.slice(1), ...(isPlaceless ? none : { before: before++, after: null }) }
      return {
        kind: 'same',
        text: line.replace(/^ /, ''),
        ...(isPlaceless ? none : { before: before++, after: after++ }),
      }
    })
}

/** Left and right: removed lines beside the lines that replace them. */
function pairsOf(lines: readonly DiffLine[]): readonly (readonly [DiffLine | null, DiffLine | null])[] {
  const pairs: (readonly [DiffLine | null, DiffLine | null])[] = []
  let removed: DiffLine[] = []
  let added: DiffLine[] = []
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      pairs.push([removed[at] ?? null, added[at] ?? null])
    removed = []
    added = []
  }
  for (const line of lines) {
    if (line.kind === 'remove') {
      if (added.length > 0) flush()
      removed.push(line)
    } else if (line.kind === 'add') added.push(line)
    else {
      flush()
      pairs.push([line, line])
    }
  }
  flush()
  return pairs
}
