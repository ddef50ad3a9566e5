// The checkpoints of a plan: what differs from now, a preview of the rollback file by file, and undoing a rollback.

import '../styles/checkpoints.css'
import { useQuery } from '@tanstack/react-query'
import { FlagTriangleRight, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { diffCheckpoints, listCheckpoints, order, previewRollback, previewUndo, undoPlan } from '../data/api.ts'
import type { LivePlan } from '../data/live.ts'
import { useRights } from '../data/queries.ts'
import { Button, Dialog } from '../parts/button.tsx'
import { useNow } from '../parts/clock.ts'
import { EntryLink } from '../parts/entry-link.tsx'
import { Empty, Skeleton, Trouble } from '../parts/states.tsx'
import { attempt } from '../parts/toasts.tsx'
import { ago, count, dateOf } from '../parts/words.ts'

const WHY: { readonly [why: string]: string } = {
  after: 'after a task',
  asked: 'taken by hand',
  task: 'by a task',
  every: 'at an interval',
  risky: 'before a risky task',
  ended: 'at the end of the plan',
}

export default function Checkpoints({ plan }: { readonly plan: LivePlan }) {
  const { id, name, version } = plan.head
  const now = useNow()
  const { operate } = useRights()
  const { data, error } = useQuery({
    queryKey: ['checkpoints', id, version],
    queryFn: () => listCheckpoints(id),
    placeholderData: before => before,
  })
  // Only a rollback that can be undone offers undo.
  const undo = useQuery({
    queryKey: ['rollback', id, 'undo', version],
    queryFn: () => previewUndo(id),
    enabled: operate,
    placeholderData: before => before,
  }).data
  const [open, setOpen] = useState<string | null>(null)
  const [back, setBack] = useState<{ readonly to: string } | { readonly undo: true } | null>(null)
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return <Skeleton height={120} />
  if (data === null || data.length === 0)
    return (
      <Empty title="No checkpoints yet" sign={<FlagTriangleRight size={36} strokeWidth={1.4} aria-hidden="true" />}>
        <p>Checkpoints are taken as tasks complete. You can also take one from the menu above.</p>
        <code className="code">planfold checkpoint {name}</code>
      </Empty>
    )
  return (
    <div className="checkpoints">
      {operate && (
        <div className="checkpoints-acts">
          <p className="dim">
            A rollback reverts files and runs tasks again. You see a preview first, and you can undo it.
          </p>
          <span className="space" />
          {undo?.ok === true && (
            <Button icon={Undo2} onClick={() => setBack({ undo: true })}>
              Undo the last rollback
            </Button>
          )}
        </div>
      )}
      <ul>
        {data.toReversed().map(one => (
          <li key={`${one.name}${one.version}`}>
            <div className="checkpoint">
              <FlagTriangleRight size={15} aria-hidden="true" />
              <span className="plan-name">
                <b className="mono">{one.name}</b>
                <span>
                  {WHY[one.why]}
                  {one.task === null ? '' : `: ${one.task}`}
                </span>
              </span>
              <span className="checkpoint-facts num dim">
                {one.paths !== null && <span>{count(one.paths, 'file')}</span>}
                <span title={dateOf(one.at)}>{ago(one.at, now)}</span>
                <EntryLink plan={name} entry={one.version} />
              </span>
              <Button
                kind="small"
                aria-expanded={open === one.name}
                onClick={() => setOpen(open === one.name ? null : one.name)}
              >
                Compare
              </Button>
              {operate && (
                <Button kind="small" onClick={() => setBack({ to: one.name })}>
                  Roll back
                </Button>
              )}
            </div>
            {open === one.name && <Difference plan={id} from={one.name} version={version} />}
          </li>
        ))}
      </ul>
      {back !== null && <BackDialog plan={id} back={back} version={version} onClose={() => setBack(null)} />}
    </div>
  )
}

function Difference({ plan, from, version }: Readonly<{ plan: string; from: string; version: number }>) {
  const { data, error } = useQuery({
    queryKey: ['checkpoint-diff', plan, from, version],
    queryFn: () => diffCheckpoints(plan, from),
  })
  if (error !== null) return <Trouble error={error} />
  if (data === undefined) return <Skeleton height={40} />
  if (data === null || !data.ok)
    return <p className="dim">{data === null ? 'This checkpoint is gone.' : data.refusal.message}</p>
  return (
    <div className="difference">
      <p className="dim">
        {data.changes.length === 0 ? 'No files changed since.' : `${count(data.changes.length, 'file')} changed since`}
        {data.basis === 'written' && data.changes.length > 0 ? '; only what the plan wrote is known' : ''}
      </p>
      <ul className="files">
        {data.changes.slice(0, 200).map(({ path, before, after }) => (
          <li key={path}>
            <code className={before === null ? 'add' : after === null ? 'remove' : ''}>
              {before === null ? '+' : after === null ? '−' : '~'}
            </code>
            <code>{path}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}

const WILL: { readonly [will: string]: string } = {
  restore: 'is restored',
  create: 'is restored',
  delete: 'is removed',
  chmod: 'gets its earlier mode',
  leave: 'is not changed',
}

/** `whole`: everything the plan did is reverted, and the plan ends. */
export function BackDialog({
  plan,
  back,
  version,
  onClose,
  onDone = () => {},
}: {
  readonly plan: string
  readonly back: { readonly to: string } | { readonly undo: true } | { readonly whole: string }
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
          {isUndo ? (
            'Undo the last rollback'
          ) : isWhole ? (
            `Undo everything ${back.whole} did?`
          ) : (
            <>
              Roll back to <code>{to}</code>
            </>
          )}
        </h2>
        {error !== null && <Trouble error={error} />}
        {data === undefined && error === null && <Skeleton height={80} />}
        {data === null && <p className="dim">The plan is gone.</p>}
        {data?.ok === false && <Trouble error={new Error(data.refusal.message)} />}
        {data?.ok === true && (
          <div className="back-preview">
            {data.files.length === 0 && <p className="dim">No file changes.</p>}
            <ul className="files">
              {data.files.map(({ path, will, conflict, why }) => (
                <li key={path}>
                  <code>{path}</code>
                  <span className="space" />
                  <span className={conflict === undefined ? 'dim' : 'impact'}>
                    {conflict === undefined ? (why ?? WILL[will]) : `${conflict}: choose below`}
                  </span>
                </li>
              ))}
            </ul>
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
          <Button
            kind="main"
            disabled={busy || data?.ok !== true || (conflicts.length > 0 && every === null)}
            onClick={() => void go()}
          >
            {stays ? 'Undo the rest' : isUndo || isWhole ? 'Undo' : 'Roll back'}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
