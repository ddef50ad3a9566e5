// Files that coding agents read as instructions. Writing one changes what agents do later, so a person is asked first. Names are
// case-folded and normalised, because some file systems take `Agents.MD` or a full-width spelling for the same file.

/** A path component as lenient file systems compare it. Folding too much only asks or protects too much. */
export function foldName(component: string): string {
  // Fast path: most names are plain, and a scan has hundreds of thousands.
  if (/^[\w./-]*[\w-]$/.test(component)) return component.toLowerCase()
  return (
    component
      .normalize('NFKC')
      .replace(/\p{Default_Ignorable_Code_Point}|\p{Cf}/gu, '')
      .toUpperCase()
      .toLowerCase()
      .normalize('NFKC')
      // Windows and SMB drop these at the end, and take `name::$DATA` for the file itself.
      .replace(/(?:::?\$[a-z_]+.*)?[. ]*$/u, '')
  )
}

export function asksFirst(path: string): boolean {
  const folded = path
    .split('/')
    .filter(part => part !== '' && part !== '.')
    .map(foldName)
  const name = folded.at(-1)
  if (name === undefined) return false
  if (NAMES.has(name)) return true
  const at = folded.indexOf('.github')
  return (
    at >= 0 && (folded[at + 1] === 'instructions' || (folded[at + 1] === name && name === 'copilot-instructions.md'))
  )
}

const NAMES: ReadonlySet<string> = new Set([
  ...['agents.md', 'agent.md', 'agents.override.md', 'agents.local.md', 'claude.md', 'claude.local.md', 'gemini.md'],
  ...['qwen.md', 'kimi.md', 'grok.md', 'codex.md', 'opencode.md', 'cline.md', 'crush.md', 'warp.md', 'skill.md'],
])
