// A template as YAML, laid out as people write it.

import { isMap, type Node, type YAMLMap } from 'yaml'
import type { JsonObject } from '../../domain/json.ts'
import { spaceItems, yamlText } from '../../format/text/yaml-text.ts'

export function printTemplate(template: JsonObject): string {
  return yamlText(template, ({ contents }) => {
    spaceBefore(contents, 'parameters')
    spaceBefore(contents, 'plan')
    spaceItems(inside(inside(contents, 'plan'), 'tasks'))
  })
}

function spaceBefore(map: unknown, name: string): void {
  if (!isMap(map)) return
  const pair = (map as YAMLMap<Node, Node>).items.find(({ key }) => String(key) === name)
  if (pair !== undefined) pair.key.spaceBefore = true
}

function inside(map: unknown, key: string): unknown {
  return isMap(map) ? map.get(key, true) : undefined
}
