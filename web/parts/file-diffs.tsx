// The changes of several files: a list with a filter, and each file as a diff that opens and closes. A click in the list leads to the file.

import { Search } from 'lucide-react'
import { type ReactNode, useId, useMemo, useState } from 'react'
import type { ChangedFile } from '../data/api.ts'
import { visible } from './argv.tsx'
import { Diff, type LineComments, type Mode, readDiff } from './diff.tsx'
import { count } from './words.ts'

const OPEN_MAX = 12
/** With so few files, the list would only repeat the headings below it. */
const LISTED_FROM = 2
const FILTERED_FROM = 6

interface FileDiffsProps {
  readonly files: readonly ChangedFile[]
  readonly mode: Mode
  /** Shown below the diff of a file. */
  readonly about?: (path: string) => ReactNode
  readonly comments?: LineComments
}

export function FileDiffs({ files, mode, comments, about }: FileDiffsProps) {
  const id = useId()
  const [filter, setFilter] = useState('')
  const counted = useMemo(() => files.map(countLines), [files])
  const found = counted.filter(({ path }) => path.toLowerCase().includes(filter.trim().toLowerCase()))
  const show = (path: string): void => {
    const element = document.getElementById(`${id}${path}`)
    if (!(element instanceof HTMLDetailsElement)) return
    element.open = true
    element.scrollIntoView({ block: 'start' })
    element.querySelector('summary')?.focus({ preventScroll: true })
  }
  return (
    <>
      {files.length >= LISTED_FROM && (
        <div className="diff-files">
          {files.length >= FILTERED_FROM && (
            <label className="find">
              <Search size={13} aria-hidden="true" />
              <span className="hidden">Filter files</span>
              <input
                type="search"
                placeholder={`Filter ${count(files.length, 'file')}`}
                value={filter}
                onChange={event => setFilter(event.target.value)}
              />
            </label>
          )}
          <ul aria-label="Changed files">
            {found.map(({ path, ...lines }) => (
              <li key={path}>
                <button type="button" onClick={() => show(path)}>
                  <code title={path}>{visible(path)}</code>
                  <LineCounts {...lines} />
                </button>
              </li>
            ))}
          </ul>
          {found.length === 0 && <p className="dim">No file has "{filter}" in its path.</p>}
        </div>
      )}
      {found.map(({ path, file, ...lines }, at) => (
        <details key={path} id={`${id}${path}`} className="file-diff" open={at < OPEN_MAX}>
          <summary>
            <code>{visible(path)}</code>
            <span className="space" />
            <LineCounts {...lines} />
          </summary>
          {file.patch === null ? (
            <p className="dim">{file.why ?? 'Its content is not stored.'}</p>
          ) : (
            <Diff
              text={file.patch.join('\n')}
              mode={mode}
              label={`Changes of ${path}`}
              path={path}
              {...(comments === undefined ? {} : { comments })}
            />
          )}
          {about?.(path)}
        </details>
      ))}
    </>
  )
}

interface Counted {
  readonly path: string
  readonly file: ChangedFile
  /** Null without a diff. */
  readonly added: number | null
  readonly removed: number
}

function countLines(file: ChangedFile): Counted {
  const { path, patch } = file
  if (patch === null) return { path, file, added: null, removed: 0 }
  const lines = readDiff(patch.join('\n'))
  const of = (kind: string): number => lines.filter(line => line.kind === kind).length
  return { path, file, added: of('add'), removed: of('remove') }
}

const LineCounts = ({ added, removed }: Pick<Counted, 'added' | 'removed'>) =>
  added === null ? null : (
    <span className="num">
      <i className="add">+{added}</i> <i className="remove">−{removed}</i>
    </span>
  )
