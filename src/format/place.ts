// From a path to a place: the line and column where a key or value of the document was written.

import { type Alias, isAlias, isMap, isScalar, isSeq, type Pair, type ParsedNode, type YAMLMap } from 'yaml'
import { type Complaint, type Diagnostic, type Path, printPath } from './diagnostic.ts'
import { type Grown, position } from './yaml-stream.ts'

/** Turns a complaint about a path into a diagnostic with line and column. */
export function place(tree: Grown, complaint: Complaint): Diagnostic {
  const { message, hint, path } = complaint
  const { key, value } = locate(tree, path)
  const node = complaint.atKey === true ? (key ?? value) : (value ?? key)
  let offset = node?.range[0] ?? 0
  if (complaint.within !== undefined && value !== null) {
    const found = tree.source.slice(value.range[0], value.range[1]).indexOf(complaint.within.text)
    if (found !== -1) offset = value.range[0] + found + complaint.within.offset
  }
  return {
    severity: complaint.severity ?? 'error',
    message,
    ...(hint === undefined ? {} : { hint }),
    ...position(tree.lines, offset),
    ...(path.length === 0 ? {} : { path: printPath(path) }),
  }
}

/** The scalar at a path as it was written. */
export function writtenAt(tree: Grown, path: Path): string | null {
  const { value, exact } = locate(tree, path)
  return exact && isScalar(value) ? (value.source ?? null) : null
}

/** The nodes at a path, or at the longest part of it that exists. */
function locate(tree: Grown, path: Path): { key: ParsedNode | null; value: ParsedNode | null; exact: boolean } {
  let key: ParsedNode | null = null
  let value: ParsedNode | null = tree.root
  for (const step of path) {
    const here: ParsedNode | null = isAlias(value) ? anchored(tree, value) : value
    if (isMap(here)) {
      const pair: Pair<ParsedNode, ParsedNode | null> | undefined = (here as YAMLMap.Parsed).items.find(item => isScalar(item.key) && item.key.value === step)
      if (pair === undefined) return { key, value, exact: false }
      key = pair.key
      value = pair.value ?? pair.key
    } else if (isSeq(here) && typeof step === 'number' && here.items[step] !== undefined) {
      key = null
      value = here.items[step] as ParsedNode
    } else return { key, value, exact: false }
  }
  return { key, value, exact: true }
}

function anchored(tree: Grown, alias: Alias.Parsed): ParsedNode | null {
  const pending: (ParsedNode | null)[] = [tree.root]
  let found: ParsedNode | null = null
  while (pending.length > 0) {
    const node = pending.pop()
    if (node === null || node === undefined || isAlias(node) || node.range[0] > alias.range[0]) continue
    if (node.anchor === alias.source && (found === null || node.range[0] > found.range[0])) found = node
    if (isMap(node)) for (const pair of (node as YAMLMap.Parsed).items) pending.push(pair.key, pair.value)
    else if (isSeq(node)) for (const item of node.items) pending.push(item as ParsedNode)
  }
  return found
}
