// A rollback before it is done: file by file and line by line, what runs again, what stays. Nothing is changed before a person agrees.

import '../styles/checkpoints.css'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { order, previewRollback, previewUndo, rollbackDiffs, undoPlan } from '../data/api.ts'
import { Button, Dialog, OrderButton } from '../parts/button.tsx'
import { DiffModes, useDiffMode } from '../parts/diff.tsx'
import { FileDiffs } from '../parts/file-diffs.tsx'
import { Skeleton, Trouble } from '../parts/states.tsx'
import { attempt } from '../parts/toasts.tsx'
import { count } from '../parts/words.ts'

const WILL: { readonly [will: string]: string } = {
  restore: 'is restored',
  create: 'is restored',
  delete: 'is removed',
  chmod: 'gets its earlier mode',
  leave: 'is not changed',
}

/** To a checkpoint with its words, or before the first task (`to: null`); or the last rollback is undone; or `whole`: everything the plan did is reverted, and the plan ends. */
export type Back =
  | { readonly to: string | null; readonly title: string }
  | { readonly undo: true }
  | { readonly whole: string }

export function BackDialog({
  plan,
  back,
  version,
  onClose,
  onDone = () => {},
}: {
  readonly plan: string
  readonly back: Back
  readonly version: number
  readonly onClose: () => void
  readonly onDone?: () => void
}) {
  const [every, setEvery] = useState<'keep' | 'take' | 'merge' | null>(null)
  const [isIncluded, setIncluded] = useState(false)
  const [busy, setBusy] = useState(false)
  const isUndo = 'undo' in back
  const isWhole = 'whole' in back
  const to = isUndo || isWhole ? null : back.to
  const include = isIncluded ? ({ includeUnclaimed: true } as const) : {}
  const { data, error } = useQuery({
    queryKey: ['rollback', plan, isUndo ? 'undo' : to, version, isIncluded],
    queryFn: () => (isUndo ? previewUndo(plan, include) : previewRollback(plan, to, include)),
    placeholderData: before => before,
  })
  const conflicts = data?.ok === true ? data.files.filter(file => file.conflict !== undefined) : []
  const unclaimed = data?.ok === true ? data.files.filter(file => file.unclaimed !== undefined) : []
  const stays = isWhole && data?.ok === true && data.stays.length > 0
  const go = async (): Promise<void> => {
    setBusy(true)
    const how = { ...(every === null ? {} : { every }), ...include }
    const isDone = await attempt(
      () =>
        isWhole
          ? undoPlan(plan, { ...how, force: stays })
          : order(plan, (isUndo ? { type: 'undo', ...how } : { type: 'rollback', to, ...how }) as never),
      isWhole ? undefined : isUndo ? 'Rollback undone' : 'Rollback started',
    )
    setBusy(false)
    if (!isDone) return
    onClose()
    onDone()
  }
  return (
    <Dialog className="back-dialog" aria-labelledby="back-title" onClose={onClose}>
      <div className="dialog-body">
        <h2 id="back-title">
          {isUndo
            ? 'Undo the last rollback'
            : isWhole
              ? `Undo everything ${back.whole} did?`
              : `Roll back ${back.title}`}
        </h2>
        {error !== null && <Trouble error={error} />}
        {data === undefined && error === null && <Skeleton height={80} />}
        {data === null && <p className="dim">The plan is gone.</p>}
        {data?.ok === false && <Trouble error={new Error(data.refusal.message)} />}
        {data?.ok === true && (
          <div className="back-preview">
            {data.files.length === 0 && <p className="dim">No file changes.</p>}
            <BackFiles
              plan={plan}
              files={data.files}
              ask={{ ...(isUndo ? { undo: true } : to === null ? {} : { to }), ...include }}
              version={version}
            />
            {!isWhole && data.resets.length > 0 && (
              <p>
                Will run again: <span className="mono">{data.resets.map(({ task }) => task).join(', ')}</span>
              </p>
            )}
            {data.compensate.length > 0 && (
              <p>
                Will be undone by their undo steps: <span className="mono">{data.compensate.join(', ')}</span>
              </p>
            )}
            {!isWhole && data.decisionsLost.length > 0 && (
              <p>Will be asked again: {data.decisionsLost.map(({ task }) => task).join(', ')}</p>
            )}
            {data.stays.length > 0 && (
              <div className="trouble">
                <div>
                  <p>These external effects remain:</p>
                  <ul>
                    {data.stays.map(({ task, why }) => (
                      <li key={task}>
                        <code>{task}</code> {why}
                      </li>
                    ))}
                  </ul>
                </div>
              </div>
            )}
            {unclaimed.length > 0 && (
              <label className={isIncluded ? 'option on' : 'option'}>
                <input type="checkbox" checked={isIncluded} onChange={() => setIncluded(!isIncluded)} />
                Also revert {count(unclaimed.length, 'file')} that may be yours; the current versions are backed up
              </label>
            )}
            {conflicts.length > 0 && (
              <fieldset className="options">
                <legend>{count(conflicts.length, 'file')} edited since</legend>
                {(
                  [
                    ['keep', 'Keep the current version'],
                    [
                      'take',
                      `Take the ${isWhole ? 'version before the plan' : "checkpoint's version"}; the current one is backed up`,
                    ],
                    ['merge', 'Merge both versions'],
                  ] as const
                ).map(([value, word]) => (
                  <label key={value} className={every === value ? 'option on' : 'option'}>
                    <input type="radio" name="every" checked={every === value} onChange={() => setEvery(value)} />
                    {word}
                  </label>
                ))}
              </fieldset>
            )}
          </div>
        )}
        <div className="dialog-acts">
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <OrderButton
            kind="main"
            disabled={busy || data?.ok !== true || (conflicts.length > 0 && every === null)}
            onClick={() => void go()}
          >
            {stays ? 'Undo the rest' : isUndo || isWhole ? 'Undo' : 'Roll back'}
          </OrderButton>
        </div>
      </div>
    </Dialog>
  )
}

type PreviewedFile = Extract<Awaited<ReturnType<typeof previewRollback>>, { readonly ok: true }>['files'][number]

/** Files with a diff are shown by it; the others by what is done to them. */
function BackFiles({
  plan,
  files,
  ask,
  version,
}: {
  readonly plan: string
  readonly files: readonly PreviewedFile[]
  readonly ask: Parameters<typeof rollbackDiffs>[1]
  readonly version: number
}) {
  const [mode, setMode] = useDiffMode()
  const { data } = useQuery({
    queryKey: ['rollback-diffs', plan, ask, version],
    queryFn: () => rollbackDiffs(plan, ask),
    enabled: files.length > 0,
    placeholderData: before => before,
  })
  // A file that was edited since is not what the plan left: its diff would be of something else.
  const changed = new Set(
    files.filter(({ will, conflict }) => will !== 'leave' && conflict === undefined).map(({ path }) => path),
  )
  const diffs = (data?.files ?? []).filter(({ path }) => changed.has(path))
  const drawn = new Set(diffs.map(({ path }) => path))
  return (
    <>
      <ul className="files">
        {files
          .filter(({ path }) => !drawn.has(path))
          .map(({ path, will, conflict, why }) => (
            <li key={path}>
              <code>{path}</code>
              <span className="space" />
              <span className={conflict === undefined ? 'dim' : 'impact'}>
                {conflict === undefined ? (why ?? WILL[will]) : `${conflict}: choose below`}
              </span>
            </li>
          ))}
      </ul>
      {diffs.length > 0 && (
        <section>
          <div className="changes-head">
            <h3>{count(diffs.length, 'file')} will change</h3>
            <span className="space" />
            <DiffModes mode={mode} onMode={setMode} />
          </div>
          <FileDiffs files={diffs} mode={mode} />
        </section>
      )}
    </>
  )
}
