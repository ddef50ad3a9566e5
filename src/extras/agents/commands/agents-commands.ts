// The options and help of the commands that bring Planfold into coding agents: prime, hook and install; and of those that Planfold starts.

import { Argument, type Command, Option } from 'commander'
import { count } from '../../../cli/commands/option-values.ts'
import type { Act } from '../../../cli/context.ts'

export function addCommands(program: Command, act: Act): void {
  const agents = program
    .command('agents')
    .description('list, test and allow coding agents that tasks can start; add Planfold to one')
    .addHelpText(
      'after',
      `
Agents of your own are rows of ~/.config/planfold/agents.yaml; a workspace cannot add one.
An agent runs in the sandbox, with its own home folder. Its model is called through Planfold, which counts every token. An agent that
uses your own login calls its own servers instead, and nothing is counted.

Examples:
  planfold agents
  planfold agents test grok
  planfold agents install claude
  planfold agents allow claude --login
  planfold agents allow claude --no-login`,
    )

  agents
    .command('list', { isDefault: true })
    .description('list the agents, where each comes from, their versions and the protocol of each')
    .action(act(async () => (await import('./agents.ts')).listAgents))

  agents
    .command('test')
    .description('test an agent: it fixes a failing test in a temporary folder, with a scripted model (free)')
    .argument('<agent>', 'its name')
    .action(act(async () => (await import('./agents.ts')).tryAgent))

  agents
    .command('allow')
    .description('let an agent use your own login (subscription), or stop that')
    .argument('<agent>', 'its name')
    .option('--login', 'pass your login into its sandbox; asks first')
    .option('--no-login', 'do not pass your login; its model is called through Planfold')
    .option('-y, --yes', 'do not ask')
    .action(act(async () => (await import('./agents.ts')).allowLogin))

  agents
    .command('install')
    .description('add Planfold to a coding agent, or remove it')
    .argument('<agent>', 'its name, such as claude')
    .option('--project', 'for everybody who works in this project (default)')
    .option('--user', 'for you, in all projects')
    .option('-n, --dry-run', 'only show what would be written')
    .option('-y, --yes', 'do not ask before writing')
    .option('--uninstall', 'remove what was installed')
    .addHelpText(
      'after',
      `
It shows every file and every changed line, then asks. Your own settings in these files stay as they are.

Examples:
  planfold agents install claude
  planfold agents install codex --user --dry-run
  planfold agents install opencode --uninstall`,
    )
    .action(act(async () => (await import('./install.ts')).install))

  program
    .command('hook', { hidden: true })
    .description('block writes of an agent outside the task it claimed; called by the agent')
    .addArgument(new Argument('<event>', 'when the agent calls it').choices(['pre-tool-use']))
    .addHelpText(
      'after',
      `
It reads the JSON of the agent on standard input: Claude Code, Codex (PreToolUse) or Gemini CLI (BeforeTool). It prints a
denial, or nothing. It always exits with 0. \`planfold agents install claude\` adds it. Shell commands are not checked.`,
    )
    .action(act(async () => (await import('./hook.ts')).preToolUse))

  program
    .command('prime', { hidden: true })
    .description('print the context of the plan for an agent, at the start of its session or after compaction')
    .argument('[plan]', 'name or UUID of the plan (default: the one with your task, else the one that changed last)')
    .option('--max-tokens <number>', 'at most this many tokens (default: 1500)', count)
    .addOption(
      new Option('--format <format>', 'text, or the hook output that an agent expects')
        .choices(['text', 'claude-hook', 'codex-hook', 'gemini-hook'])
        .default('text'),
    )
    .action(act(async () => (await import('./prime.ts')).prime))
}
