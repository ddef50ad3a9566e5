// Edits the plan as text: validated while typing, with a diff before anything is saved.

import '../styles/drawer.css'
import '../styles/inbox.css'
import '../styles/edit-plan.css'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { planText, tryRevision } from '../data/api.ts'
import { DiffByMeaning } from '../inbox/proposal-shown.tsx'
import { Faults, useRested } from '../parts/checked-text.tsx'
import { Skeleton, Trouble } from '../parts/states.tsx'

export interface EditPlanProps {
  readonly plan: string
  readonly revision: number
  readonly title: string
  readonly yes: string
  readonly onClose: () => void
  readonly onDone: (text: string) => Promise<void>
}

export default function EditPlan({ plan, revision, title, yes, onClose, onDone }: EditPlanProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  const { data: text, error } = useQuery({
    queryKey: ['plan-text', plan, revision],
    queryFn: () => planText(plan, revision),
  })
  return (
    <dialog ref={dialog} className="edit-plan" aria-labelledby="edit-title" onClose={onClose}>
      <div className="dialog-body">
        <h2 id="edit-title">{title}</h2>
        {error !== null && <Trouble error={error} />}
        {text === undefined && error === null && <Skeleton height={240} />}
        {text !== undefined && <Editor {...{ plan, text, yes, onClose, onDone }} />}
      </div>
    </dialog>
  )
}

function Editor({
  plan,
  text: before,
  yes,
  onClose,
  onDone,
}: Pick<EditPlanProps, 'plan' | 'yes' | 'onClose' | 'onDone'> & { readonly text: string }) {
  const [text, setText] = useState(before)
  const [busy, setBusy] = useState(false)
  const [refused, setRefused] = useState<unknown>(null)
  const rested = useRested(text)
  const tried = useQuery({
    queryKey: ['tried', plan, rested],
    queryFn: () => tryRevision(plan, rested),
    enabled: rested !== before && rested.trim() !== '',
    retry: false,
  })
  const isTried = rested === text && tried.data !== undefined
  const go = async (): Promise<void> => {
    setBusy(true)
    setRefused(null)
    try {
      await onDone(text)
      onClose()
    } catch (trouble) {
      setRefused(trouble)
      setBusy(false)
    }
  }
  return (
    <>
      <div className="edit-plan-both">
        <textarea
          className="field mono"
          aria-label="The plan as text"
          spellCheck={false}
          value={text}
          onChange={event => setText(event.target.value)}
        />
        <div className="edit-plan-messages" aria-live="polite">
          {rested === before ? (
            <p className="dim">The difference appears here while you type.</p>
          ) : tried.error !== null ? (
            <Faults error={tried.error} />
          ) : tried.data === undefined ? (
            <p className="dim">Checking…</p>
          ) : (
            <>
              <p>
                <b>{tried.data.summary}</b>
              </p>
              <DiffByMeaning diff={tried.data.diff} />
            </>
          )}
        </div>
      </div>
      {refused !== null && <Trouble error={refused} />}
      <div className="dialog-acts">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
        <button type="button" className="button main" disabled={busy || !isTried} onClick={() => void go()}>
          {yes}
        </button>
      </div>
    </>
  )
}
