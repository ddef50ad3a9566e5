// The options and help of the commands that report: inbox, audit, memory, summary.

import { type Command, Option } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues, count, OPTIONAL_PLAN, PLAN } from '../option-values.ts'
import type { InboxAnswerOptions } from '../people/inbox.ts'
import { since } from '../plans/log.ts'

const DAY_MS = 86_400_000
const KEY = 'file with the signing key; private, outside the workspace and the state folder'

const wordIn =
  (group: Command) =>
  (name: string, description: string, options: { readonly isDefault?: true } = {}): Command =>
    group
      .command(name, options)
      .description(description)
      .configureOutput({ writeErr: () => {} })

export function addAuditing(program: Command, act: Act): void {
  addInbox(program, act)
  addAudit(program, act)
  addMemory(program, act)

  program
    .command('why')
    .description('show which task, person or commit stands behind a line of a file, and how to undo it')
    .argument('<file>', 'FILE or FILE:LINE')
    .addHelpText(
      'after',
      `
Examples:
  planfold why src/client.ts:120
  planfold why src/client.ts

Lines are followed through later edits, renames, rollbacks and undo. In a clone without Planfold's data, the commits answer.`,
    )
    .action(act(async () => (await import('./why.ts')).why))

  program
    .command('summary')
    .description('summarize plans: what happened since a time, a report to hand over, or a pull request')
    .argument(
      '[plans...]',
      'names or UUIDs of plans (default: digest: all unfinished or changed ones; else the only one)',
    )
    .addOption(
      new Option(
        '--form <form>',
        'digest: progress and blockers since a time; handoff: README and postmortem; pr: title and body of a pull request',
      )
        .choices(['digest', 'handoff', 'pr'])
        .default('digest'),
    )
    .addOption(
      new Option('--since <when>', 'digest: since when, 7d (ago) or a timestamp')
        .argParser(since)
        .default({ agoMs: DAY_MS }, '24h'),
    )
    .option(
      '--out <path>',
      'handoff: write README.md, POSTMORTEM.md, plan, journal and artifacts to this folder; pr: to this file',
    )
    .addOption(new Option('--write <path>', 'the same as --out').hideHelp())
    .option('-f, --force', 'handoff: overwrite files that Planfold did not write')
    .option('--create', 'pr: create the pull request with gh; the branch must be pushed already')
    .option('--base <branch>', 'pr: with --create: target branch')
    .addHelpText(
      'after',
      `
Examples:
  planfold summary
  planfold summary release --since 7d
  planfold summary --since 2026-11-15T08:30:00Z --json
  planfold summary release --form handoff --out docs/release
  planfold summary release --form pr --create`,
    )
    .action(act(async () => (await import('./summary.ts')).summary))
}

function addInbox(program: Command, act: Act): void {
  const inbox = program
    .command('inbox')
    .description('list requests that wait for a person, in all plans; answer them by id')
    .addHelpText(
      'after',
      `
Examples:
  planfold inbox
  planfold inbox answer 7k3m9x2v approve -m 'looked at it'
  planfold inbox answer 7k3m9x2v reject -m 'the tests are missing'
  planfold inbox answer 9c2d4f6h choose postgres -m 'we know it'
  planfold inbox answer 5b8n1q3s region=eu copies=3`,
    )
  const word = wordIn(inbox)
  word('list', 'list requests with their ids and the commands that answer them', { isDefault: true })
    .option('--for <name>', 'only requests for this person or role, and requests for everyone')
    .action(act(async () => (await import('../people/inbox.ts')).inbox))
  word('proposals', 'list proposed changes of a plan, or show one')
    .argument('[plan]', OPTIONAL_PLAN)
    .argument('[id]', 'id of the proposal, as listed')
    .action(act(async () => (await import('../revisions/proposals.ts')).proposals))
  word('answer', 'answer a request by its id')
    .argument('<id>', 'id, as listed')
    .argument(
      '<answer...>',
      'one of the listed answers: approve, reject, push-back, choose OPTION, NAME=VALUE …, done, again, skip, claim, fail, keep, take, merge, leave',
    )
    .option('-m, --message <text>', 'why')
    .option('--hash <hash>', 'answer only if the request still has this hash')
    .option('--to <task>', 'with push-back: task to run again')
    .option('--output <name=value>', 'with done: set an output; repeat for more', collectValues)
    .option('--outputs <file>', 'with done: read outputs from a JSON file')
    .option('--outcome <name>', 'with done: outcome to report; selects the next task')
    .action(
      act(async () => {
        const { answerInbox } = await import('../people/inbox.ts')
        return (context, id: string, [word = '', ...more]: string[], options: InboxAnswerOptions) =>
          answerInbox(context, id, word, options, more)
      }),
    )
}

function addAudit(program: Command, act: Act): void {
  const audit = program
    .command('audit')
    .description('show, verify, replay or sign the audit trail of a plan')
    .addHelpText(
      'after',
      `
Examples:
  planfold audit release --since 7d
  planfold audit release --format jsonl > release.jsonl
  planfold audit verify --all
  planfold audit seal release --key-file ~/.keys/planfold >> /mnt/elsewhere/seals.jsonl
  planfold audit verify --seal /mnt/elsewhere/seals.jsonl --key-file ~/.keys/planfold`,
    )
  const word = wordIn(audit)
  word('show', 'show who asked, decided, ran and wrote what', { isDefault: true })
    .argument('[plan]', OPTIONAL_PLAN)
    .addOption(new Option('--format <format>', 'output format').choices(['text', 'jsonl', 'markdown']))
    .addOption(new Option('--since <when>', 'only after this time: 7d (ago) or a timestamp').argParser(since))
    .action(act(async () => (await import('./audit.ts')).audit))
  word('verify', 'verify the hash chain of the log, and its signatures')
    .argument('[plan]', OPTIONAL_PLAN)
    .option('--all', 'verify all plans')
    .option('--seal <file>', 'file with signatures from `audit seal`, one per line')
    .option('--key-file <file>', KEY)
    .action(act(async () => (await import('./audit.ts')).verify))
  word('replay', 'replay the event log and check that it leads to the same state; runs nothing')
    .argument('<plan>', PLAN)
    .action(act(async () => (await import('./replay.ts')).replay))
  word('seal', 'sign the current log; store the signature outside this machine')
    .argument('[plan]', OPTIONAL_PLAN)
    .requiredOption('--key-file <file>', KEY)
    .option('--out <file>', 'write the signature to this new file (default: standard output)')
    .action(act(async () => (await import('./audit.ts')).seal))
}

function addMemory(program: Command, act: Act): void {
  const memory = program
    .command('memory')
    .description('show what earlier plans teach: what people decided, and lessons that still hold')
    .addHelpText(
      'after',
      `
Examples:
  planfold memory decisions
  planfold memory decisions release --json
  planfold memory propose release@14
  planfold memory lessons --file src/client.ts`,
    )
  wordIn(memory)('decisions', 'list what people decided at gates, about questions and about proposals, newest first')
    .argument('[plan]', `${PLAN} (default: all plans)`)
    .addOption(new Option('--limit <number>', 'at most so many').argParser(count).default(20))
    .action(act(async () => (await import('./memory.ts')).decisions))
  wordIn(memory)('propose', 'propose to write a decision into AGENTS.md; a person approves the diff')
    .argument('<decision>', 'id of the decision, as listed')
    .action(act(async () => (await import('./memory.ts')).propose))
  wordIn(memory)(
    'lessons',
    'list what was said about work in earlier plans: valid, doubtful (moved) or dropped (changed since)',
  )
    .option('--file <path>', 'only those about this file, relative to the workspace')
    .action(act(async () => (await import('./memory.ts')).lessons))
}
