// Several files as one text, and back: each stands under a line that names it.

export interface TextFile {
  readonly name: string
  readonly text: string
}

const MARK = /^<!-- file: (.+?)( \(no newline at its end\))? -->$/

/** A file that holds such a line itself cannot be put in; see `bundleFault`. */
export function bundle(files: readonly TextFile[]): string {
  return files
    .map(({ name, text }) => {
      const whole = text === '' || text.endsWith('\n')
      return `<!-- file: ${name}${whole ? '' : ' (no newline at its end)'} -->\n${text}${whole ? '' : '\n'}`
    })
    .join('')
}

/** Why these files cannot stand in one text; null when they can. */
export function bundleFault(files: readonly TextFile[]): string | null {
  const marked = files.find(({ text }) => text.split(/\r?\n/).some(line => MARK.test(line)))
  if (marked !== undefined) return `${marked.name} contains a line that looks like the name of a file`
  const strange = files.find(({ name }) => !isFileName(name))
  return strange === undefined ? null : `${JSON.stringify(strange.name)} is not a valid name for a task file`
}

/** Null for a text that is one file. `line` is where the file's own text begins, counted from 1. */
export function unbundle(text: string): readonly (TextFile & { readonly line: number })[] | null {
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text
  if (!MARK.test(source.slice(0, 1_000).split(/\r?\n/, 1)[0]!)) return null
  const files: { name: string; text: string; line: number; whole: boolean }[] = []
  for (const [index, line] of (source.match(/[^\n]*\n|[^\n]+$/g) ?? []).entries()) {
    const mark = MARK.exec(line.replace(/\r?\n$/, ''))
    if (mark === null) files.at(-1)!.text += line
    else files.push({ name: mark[1]!, text: '', line: index + 2, whole: mark[2] === undefined })
  }
  return files.map(({ name, text, line, whole }) => ({ name, text: whole ? text : text.replace(/\n$/, ''), line }))
}

/** May be written into a folder without leaving it. */
export function isFileName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused here.
  return name.length <= 200 && !/[/\\\u0000-\u001f\u007f]|^\.|-->|^$/.test(name)
}
