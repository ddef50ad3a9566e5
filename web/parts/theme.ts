// Light or dark: as the system has it, unless chosen. Kept in this browser.

export type Theme = 'system' | 'light' | 'dark'
const KEY = 'planfold-theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

export const chosenTheme = (): Theme => {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  applyTheme()
}

export function applyTheme(): void {
  const theme = chosenTheme()
  document.documentElement.dataset.theme = theme === 'system' ? (dark.matches ? 'dark' : 'light') : theme
}

dark.addEventListener('change', applyTheme)
addEventListener('storage', event => {
  if (event.key === KEY) applyTheme()
})

export const turnTheme = (): void => chooseTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark')
