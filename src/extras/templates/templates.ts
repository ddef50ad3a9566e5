// The door of templates.

export { readTemplate, type Template } from './document.ts'
export { type Instantiated, instantiate } from './instantiate.ts'
export { describeType, exampleOf, type Parameter, type Problem } from './parameters.ts'
export { type Given, saveTemplate } from './save.ts'
export { readTemplateFile, type Shelved, type ShelvedRead, shelfWith, writeTemplate } from './shelf.ts'
