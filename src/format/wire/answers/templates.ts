// Templates and their parameters.

import type { Json } from '../../../domain/json.ts'
import type { PageOf } from './fields.ts'

interface TemplateFields {
  readonly name: string
  readonly origin: 'stock' | 'own'
  /** It stands before a stock template of the same name. */
  readonly hides: boolean
  readonly title: string | null
  readonly about: string | null
  readonly template_version: string | null
  readonly hash: string | null
}

export interface TemplateItem extends TemplateFields {
  readonly parameters: readonly string[]
  /** Why it cannot be used. */
  readonly fault: string | null
}

export type TemplatePage = PageOf<TemplateItem>

interface Parameter {
  readonly name: string
  readonly type: string
  readonly about: string
  readonly required: boolean
  readonly default: Json
  readonly values?: readonly Json[]
  readonly of?: string
  readonly min?: number
  readonly max?: number
  readonly example?: Json
}

export type Template = TemplateFields & { readonly parameters: readonly Parameter[]; readonly document: string }
export type TemplateSaved = Template & { readonly notes: readonly string[] }
