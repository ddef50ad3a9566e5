// The words for answering for a plan: its trail and seals, what to hand on, what has happened meanwhile, what waits for a person.

import { type Command, Option } from 'commander'

import type { Act } from '../../context.ts'
import { collectValues } from '../option-values.ts'
import type { InboxAnswerOptions, InboxOptions } from '../people/inbox.ts'
import { since } from '../plans/log.ts'
import type { AuditOptions, SealOptions, VerifyOptions } from './audit.ts'
import type { ContractOptions } from './contract.ts'
import type { DigestOptions } from './digest.ts'
import type { HandoffOptions } from './handoff.ts'

const GROUP = 'Answer for it:'
const PLAN = 'its name or UUID; may be left out when only one plan is open'
const DAY_MS = 86_400_000
const KEY = 'a key nobody else may read, kept outside the workspace and the state folder'

/** A word of a group; its errors are told once, by main. */
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

  program
    .command('digest')
    .helpGroup(GROUP)
    .description('progress and blockers since a time: completed, failed, waiting for whom, next')
    .argument('[plans...]', 'names or UUIDs; all that are open or have moved when left out')
    .addOption(
      new Option('--since <when>', 'a while ago, or a time').argParser(since).default({ agoMs: DAY_MS }, '24h'),
    )
    .addHelpText(
      'after',
      `
Examples:
  planfold digest
  planfold digest release --since 7d
  planfold digest --since 2026-11-15T08:30:00Z --json`,
    )
    .action((plans: string[], options: DigestOptions) =>
      act(async context => (await import('./digest.ts')).digest(context, plans, options)),
    )

  program
    .command('contract')
    .helpGroup(GROUP)
    .description('every criterion of a plan and how it was judged last: evidence, by whom, when, in which entry')
    .argument('[plan]', PLAN)
    .option('--open', 'only what does not hold or has not been judged')
    .action((plan: string | undefined, options: ContractOptions) =>
      act(async context => (await import('./contract.ts')).contract(context, plan, options)),
    )

  program
    .command('handoff')
    .helpGroup(GROUP)
    .description('a readme and a postmortem from the journal: asked, done, decided, left open, where things are')
    .argument('[plan]', PLAN)
    .option(
      '--out <folder>',
      'write README.md, POSTMORTEM.md and the artifacts there, as Markdown, instead of printing them',
    )
    .addOption(new Option('--write <folder>').hideHelp())
    .option('-f, --force', 'write over files that no handoff wrote')
    .addHelpText(
      'after',
      `
Example:
  planfold handoff release --out docs/release`,
    )
    .action((plan: string | undefined, options: HandoffOptions) =>
      act(async context => (await import('./handoff.ts')).handoff(context, plan, options)),
    )
}

function addInbox(program: Command, act: Act): void {
  const inbox = program
    .command('inbox')
    .helpGroup(GROUP)
    .description('everything that waits for a person, in all plans, oldest first; answer it by id')
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
  word('list', 'what waits, each with its id and the commands that answer it', { isDefault: true })
    .option('--for <name>', 'only what is theirs by name or role, or nobody’s')
    .action((options: InboxOptions) =>
      act(async context => (await import('../people/inbox.ts')).inbox(context, options)),
    )
  word('answer', 'answer one by its id; refused when it waits no longer')
    .argument('<id>', 'as the list shows it')
    .argument(
      '<answer...>',
      'approve, reject, push-back, choose OPTION, NAME=VALUE …, done, again, skip, claim, fail, mine, theirs, merge, leave, keep, take: as listed',
    )
    .option('-m, --message <text>', 'why')
    .option('--hash <hash>', 'of what you looked at; refused when it asks about something else')
    .option('--to <task>', 'of push-back: the task that is done again')
    .option('--output <name=value>', 'of work that is done: an output; repeat for more', collectValues)
    .option('--outputs <file>', 'of work that is done: outputs from a JSON file')
    .option('--outcome <name>', 'of work that is done: the outcome edge to take')
    .action((id: string, [word = '', ...more]: string[], options: InboxAnswerOptions) =>
      act(async context => (await import('../people/inbox.ts')).answerInbox(context, id, word, options, more)),
    )
}

function addAudit(program: Command, act: Act): void {
  const audit = program
    .command('audit')
    .helpGroup(GROUP)
    .description('the trail of a plan: revisions, decisions, commands, attempts, files, rollbacks; verify and seal it')
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
  word('show', 'who asked, decided, ran and wrote what, each line with its entry and hash', { isDefault: true })
    .argument('[plan]', PLAN)
    .addOption(new Option('--format <format>', 'how it is written').choices(['text', 'jsonl', 'markdown']))
    .addOption(new Option('--since <when>', 'only what came later: a while ago, or a time').argParser(since))
    .action((plan: string | undefined, options: AuditOptions) =>
      act(async context => (await import('./audit.ts')).audit(context, plan, options)),
    )
  word('verify', 'prove the hash chain of a journal, and that it still holds what was sealed')
    .argument('[plan]', PLAN)
    .option('--all', 'every plan there is')
    .option('--seal <file>', 'seals, one on each line')
    .option('--key-file <file>', KEY)
    .action((plan: string | undefined, options: VerifyOptions) =>
      act(async context => (await import('./audit.ts')).verify(context, plan, options)),
    )
  word('seal', 'sign where the journal stands now; keep the seal where the store cannot be written from')
    .argument('[plan]', PLAN)
    .requiredOption('--key-file <file>', KEY)
    .option('--out <file>', 'write it there instead of here; never over a file')
    .action((plan: string | undefined, options: SealOptions) =>
      act(async context => (await import('./audit.ts')).seal(context, plan, options)),
    )
}
