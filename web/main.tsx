// Entry point: signs the browser in if it followed a sign-in link, then shows the addressed page.

import '@fontsource-variable/geist/wght.css'
import '@fontsource-variable/geist-mono/wght.css'
import './styles/base.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { signInByLink } from './data/api.ts'
import { followChanges, queryClient } from './data/queries.ts'
import { applyTheme } from './parts/theme.ts'
import { router } from './router.tsx'

applyTheme()
const refused = await signInByLink()
if (refused !== null)
  sessionStorage.setItem('planfold-refused', [refused.message, refused.hint].filter(Boolean).join('. '))
followChanges()

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
