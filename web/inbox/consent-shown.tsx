// What a person is asked to approve, rendered from the stored bytes only: full commands, full diffs, their reach, and what an
// approval would release. The plan author's own description comes last and is marked as such.

import { type ActionType, actionFacts } from '../../src/domain/actions/actions.ts'
import type { Shown, ShownTask, ShownWords } from '../../src/domain/gates/consent.ts'
import { IMPACT_WORDS } from '../../src/domain/plan-rules/impact.ts'
import type { Releases } from '../../src/domain/views/gate-releases.ts'
import { networkOf, writesOf } from '../../src/domain/views/pages/consent-text.ts'
import { spelled } from '../../src/domain/views/pages/foreign-text.ts'
import type { ChangedFile, NamedFile } from '../data/api.ts'
import { Argv, visible } from '../parts/argv.tsx'
import { Diff, DiffModes, type LineComments, useDiffMode } from '../parts/diff.tsx'
import { FileDiffs } from '../parts/file-diffs.tsx'
import { count } from '../parts/words.ts'

export function ConsentShown({
  shown,
  releases,
  changes,
  files,
  comments,
}: {
  readonly shown: Shown | null
  readonly releases: Releases | null
  readonly changes: readonly ChangedFile[]
  readonly files: readonly NamedFile[]
  readonly comments: LineComments
}) {
  if (shown === null) return <ReleasesShown releases={releases} named={new Set()} />
  if (shown.type === 'task')
    return (
      <section>
        <h3>If you approve, this runs</h3>
        <TaskShown task={shown} waits={[]} contents={files} />
        <Reviewed isReviewed={shown.reviewed !== null} changes={changes} comments={comments} />
        <AuthorWords words={shown.words} />
      </section>
    )
  const waits = new Map((releases?.waits ?? []).map(one => [one.task as string, one.for]))
  const { tasks, later, leads, reviewed, beside = [], words } = shown
  return (
    <>
      {(leads ?? []).map(({ outcome, to }) => (
        <p key={outcome}>
          Choosing <code>{outcome}</code> starts {to.length === 0 ? 'nothing more' : to.join(', ')}.
        </p>
      ))}
      {tasks.length > 0 && (
        <section>
          <h3>
            {leads !== undefined
              ? 'Depending on your choice, this runs'
              : tasks.length === 1
                ? 'If you approve, this runs'
                : `If you approve, these ${tasks.length} tasks run`}
          </h3>
          {tasks.map(task => (
            <TaskShown key={task.task} task={task} waits={waits.get(task.task) ?? []} contents={files} />
          ))}
        </section>
      )}
      <Reviewed isReviewed={reviewed !== null} changes={changes} comments={comments} />
      {beside.map(line => (
        <p key={line}>Outside the scopes of its tasks: {line}</p>
      ))}
      <ReleasesShown releases={releases} named={new Set([...tasks.map(({ task }) => task as string), ...later])} />
      {later.length > 0 && <p className="dim">Needs its own approval later: {later.join(', ')}</p>}
      <AuthorWords words={words} />
    </>
  )
}

function TaskShown({
  task,
  waits,
  contents,
}: {
  readonly task: ShownTask
  readonly waits: readonly string[]
  readonly contents: readonly NamedFile[]
}) {
  const { does, impact, effect, open, program, cwd, inputs, values, files, remotes, hosts, besides, feedback } = task
  const facts: readonly (readonly [string, string])[] = [
    ...(cwd === '' || cwd === '.' ? [] : [['In', cwd] as const]),
    ...(program === null ? [] : [['Program', program] as const]),
    ['Writes', writesOf(task)],
    ...('to' in does && actionFacts({ type: does.to as ActionType }).network === undefined
      ? []
      : [['Network', networkOf(task)] as const]),
    ...(hosts.length === 0 ? [] : [['Hosts', hosts.join(', ')] as const]),
    ...Object.entries(remotes).map(([name, url]) => [`Remote ${name}`, url] as const),
    ...Object.entries(values).map(([name, value]) => [name, value] as const),
    ...(task.cost === '' ? [] : [['Cost', task.cost === 'no budget said' ? 'no budget set' : task.cost] as const]),
  ]
  return (
    <div className="shown-task">
      <h4>
        <b className="mono">{task.task}</b>
        <span className="dim">effect {effect}</span>
        {impact !== null && <span className="impact">{IMPACT_WORDS[impact]}</span>}
      </h4>
      {waits.length > 0 && <p className="dim">It is also waiting for {waits.join(', ')}.</p>}
      {open !== null && <p className="impact">Not all of it is known yet ({open}); you are asked again when it is.</p>}
      {task.filledLater !== undefined && task.filledLater.length > 0 && (
        <p className="impact">Earlier tasks fill this in, and you are not asked again: {task.filledLater.join(', ')}</p>
      )}
      {does.type === 'argv' && <Argv argv={does.argv} />}
      {does.type === 'script' && <pre className="block">{spelled(does.script)}</pre>}
      {'diff' in does && <Diff text={does.diff} />}
      {does.type === 'git' && <pre className="block">{JSON.stringify(does.git, null, 2)}</pre>}
      {does.type === 'request' && <pre className="block">{does.lines.join('\n')}</pre>}
      {does.type === 'agent' && <p>{`${JSON.stringify(does.agent)} is told: ${does.instruction ?? ''}`}</p>}
      {does.type === 'external' && <p>{does.instruction ?? 'Done by the agent or person that claims it.'}</p>}
      {'stdin' in does && does.stdin !== null && (
        <>
          <p className="dim">and is given as standard input:</p>
          <pre className="block">{does.stdin}</pre>
        </>
      )}
      {!('diff' in does) &&
        files.map(file => (
          <FileShown
            key={file.path}
            file={file}
            content={contents.find(({ sha256 }) => sha256 === file.sha256) ?? null}
          />
        ))}
      {feedback !== null && <blockquote>{feedback}</blockquote>}
      {facts.length > 0 && (
        <table className="facts-table">
          <tbody>
            {facts.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <code>{visible(value)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {Object.keys(inputs).length > 0 && <pre className="block">{JSON.stringify(inputs, null, 2)}</pre>}
      {besides.length > 0 && (
        <>
          <p className="dim">These commands also run:</p>
          {besides.map(text => (
            <pre key={text} className="block">
              {text}
            </pre>
          ))}
        </>
      )}
    </div>
  )
}

/** A file that the command names: its lines as they would run, or why there are none. */
function FileShown({
  file,
  content,
}: {
  readonly file: ShownTask['files'][number]
  readonly content: NamedFile | null
}) {
  // The split leaves an empty string after the final line feed.
  const lines = content?.lines?.filter((line, at, all) => line !== '' || at < all.length - 1) ?? null
  return (
    <>
      <p className="dim">
        <b className="mono">{visible(file.path)}</b>{' '}
        {lines === null
          ? `(${content?.why ?? 'its content is not stored: outside the workspace, or too large'})`
          : count(lines.length, 'line')}
        , {count(file.bytes, 'byte')}, sha256 {file.sha256.slice(0, 12)}
      </p>
      {lines !== null && <pre className="block">{spelled(lines.join('\n'))}</pre>}
    </>
  )
}

function Reviewed({
  isReviewed,
  changes,
  comments,
}: {
  readonly isReviewed: boolean
  readonly changes: readonly ChangedFile[]
  readonly comments: LineComments
}) {
  const [mode, setMode] = useDiffMode()
  if (!isReviewed) return null
  // A path with other changed paths inside it is a folder.
  const isFolder = ({ path, patch }: ChangedFile): boolean =>
    patch === null && changes.some(other => other.path.startsWith(`${path}/`))
  const folders = changes.filter(isFolder)
  const files = changes.filter(one => !isFolder(one))
  return (
    <section className="reviewed">
      <div className="changes-head">
        <h3>
          {files.length === 0
            ? 'No file was changed'
            : `${count(files.length, 'file')} ${files.length === 1 ? 'was' : 'were'} changed`}
        </h3>
        <span className="space" />
        {files.length > 0 && <DiffModes mode={mode} onMode={setMode} />}
      </div>
      <FileDiffs files={files} mode={mode} comments={comments} />
      {folders.length > 0 && (
        <p className="dim">
          {folders.length === 1 ? 'The folder' : 'The folders'} {folders.map(({ path }) => path).join(', ')}{' '}
          {folders.length === 1 ? 'was' : 'were'} made, removed or given other rights.
        </p>
      )}
    </section>
  )
}

function ReleasesShown({
  releases,
  named,
}: {
  readonly releases: Releases | null
  readonly named: ReadonlySet<string>
}) {
  if (releases === null) return null
  const begins = releases.begins.filter(task => !named.has(task))
  const waits = releases.waits.filter(({ task }) => !named.has(task))
  if (begins.length === 0 && waits.length === 0 && releases.more === 0) return null
  return (
    <section>
      <h3>What can start then</h3>
      <ul className="files">
        {begins.map(task => (
          <li key={task}>
            <code>{task}</code> <span className="dim">starts at once</span>
          </li>
        ))}
        {waits.map(({ task, for: others }) => (
          <li key={task}>
            <code>{task}</code> <span className="dim">also waits for {others.slice(0, 8).join(', ')}</span>
          </li>
        ))}
        {releases.more > 0 && <li className="dim">and {releases.more} more behind it</li>}
      </ul>
    </section>
  )
}

function AuthorWords({ words }: { readonly words: ShownWords }) {
  const { title, description, rationale, risks = [] } = words
  if (title === undefined && description === undefined && rationale === undefined && risks.length === 0) return null
  return (
    <section className="author">
      <h3>
        In the words of whoever wrote the plan <s>nothing of it is checked</s>
      </h3>
      {[title, description, rationale].map(text => (text === undefined ? null : <p key={text}>{text}</p>))}
      {risks.length > 0 && <p>Risks: {risks.join('; ')}</p>}
    </section>
  )
}
