// Comments on a draft, a new draft from them, and the difference. Nothing is saved or started before it is confirmed.

import '../styles/drawer.css'
import '../styles/inbox.css'
import '../styles/edit-plan.css'
import { Plus } from 'lucide-react'
import { useState } from 'react'
import { type DraftComment, type Redraft as Drafted, redraft, revise } from '../data/api.ts'
import type { LivePlan } from '../data/live.ts'
import { DiffByMeaning } from '../inbox/proposal-shown.tsx'
import { Button, Dialog, OrderButton } from '../parts/button.tsx'
import { Trouble } from '../parts/states.tsx'
import { toast } from '../parts/toasts.tsx'
import { useWork } from '../parts/use-work.ts'
import { commentText } from './draft-shown.tsx'

const EMPTY: DraftComment = { task: null, text: '' }

export default function Redraft({ plan, onClose }: { readonly plan: LivePlan; readonly onClose: () => void }) {
  const { name, draft } = plan.head
  const earlier = draft?.comments ?? []
  const [comments, setComments] = useState<readonly DraftComment[]>([EMPTY])
  const [drafted, setDrafted] = useState<Drafted | null>(null)
  const { busy, error, work } = useWork()
  const written = comments.filter(({ text }) => text.trim() !== '')
  const change = (at: number, next: DraftComment): void => {
    setComments(comments.map((one, index) => (index === at ? next : one)))
    setDrafted(null)
  }
  const again = (): Promise<void> => work(async () => setDrafted(await redraft(name, written)))
  const keep = ({ document, rationale, revision }: Drafted): Promise<void> =>
    work(async () => {
      await revise(name, document, rationale, revision)
      toast('Draft updated')
      onClose()
    })
  return (
    <Dialog className="edit-plan" aria-labelledby="redraft-title" onClose={onClose}>
      <div className="dialog-body">
        <h2 id="redraft-title">What should be different in {name}?</h2>
        {earlier.length > 0 && (
          <div className="redraft-before">
            <p className="dim">Redrafted after:</p>
            <ul aria-label="Redrafted after">
              {earlier.map((comment, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: they stay in their order.
                <li key={at}>{commentText(comment)}</li>
              ))}
            </ul>
          </div>
        )}
        <div className="edit-plan-both redraft">
          <div className="redraft-said">
            {comments.map((comment, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: they stay in their order.
              <fieldset key={at}>
                <legend className="hidden">Comment {at + 1}</legend>
                <select
                  className="field"
                  aria-label="About"
                  value={comment.task ?? ''}
                  onChange={event => change(at, { ...comment, task: event.target.value || null })}
                >
                  <option value="">all of it</option>
                  {plan.tasks.map(task => (
                    <option key={task.name} value={task.name}>
                      {task.name}
                    </option>
                  ))}
                </select>
                <textarea
                  className="field"
                  aria-label="Comment"
                  rows={3}
                  value={comment.text}
                  placeholder="e.g. leave this out, ask first, only src/"
                  onChange={event => change(at, { ...comment, text: event.target.value })}
                />
              </fieldset>
            ))}
            <Button kind="small" icon={Plus} onClick={() => setComments([...comments, EMPTY])}>
              Another comment
            </Button>
          </div>
          <div className="edit-plan-messages" aria-live="polite">
            {drafted === null ? (
              <p className="dim">The next draft appears here as a diff. You keep it, or the one you have.</p>
            ) : (
              <>
                <p>
                  <b>{drafted.changed ? drafted.summary : 'The next draft is the same.'}</b>
                </p>
                <DiffByMeaning diff={drafted.diff} />
                {drafted.unfollowed.map(({ task, text, why }) => (
                  <p key={`${task}${text}`} className="impact">
                    Could not be followed: {task === null ? '' : `${task}: `}
                    {text} ({why})
                  </p>
                ))}
              </>
            )}
          </div>
        </div>
        {error !== null && <Trouble error={error} />}
        <div className="dialog-acts">
          <Button onClick={onClose}>Keep the old draft</Button>
          {drafted?.changed === true ? (
            <OrderButton kind="main" disabled={busy} onClick={() => void keep(drafted)}>
              Keep the new draft
            </OrderButton>
          ) : (
            <OrderButton kind="main" disabled={busy || written.length === 0} onClick={() => void again()}>
              {busy ? 'Drafting…' : 'Redraft'}
            </OrderButton>
          )}
        </div>
      </div>
    </Dialog>
  )
}
