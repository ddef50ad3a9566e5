// The locations of credentials in a home, which a sandboxed command does not see although the rest of the home may be visible. Relative to
// the home; files or folders. Paths below `.config/`, `.local/share/`, `.local/state/`, `.cache/` or `.cargo/` are also searched where the
// user's variables move those folders.

export const CREDENTIAL_PLACES: readonly string[] = [
  ...words(`.ssh .gnupg .pki .age .config/age .config/sops .minisign .signify .step .putty .1password .config/op .config/1Password
    .config/Bitwarden .config/keepassxc .password-store .local/share/password-store .local/share/gopass .config/gopass .lastpass
    .keepass .local/share/keyrings .local/share/kwalletd .gnome2/keyrings .kde/share/apps/kwallet .vault-token`),
  '.config/Bitwarden CLI',
  ...words(`.aws .azure .config/gcloud .kube .oci .aliyun .bluemix .config/doctl .config/hcloud .fly .config/heroku .config/netlify
    .config/vercel .local/share/com.vercel.cli .config/.wrangler .wrangler .config/stripe .config/rclone .rclone.conf .s3cfg .boto
    .passwd-s3fs .terraform.d .terraformrc .pulumi .chef .config/helm .databrickscfg .kaggle .huggingface .cache/huggingface/token
    .minikube .cloudflared .sentryclirc .expo .ngrok2 .ivy2/.credentials .sbt .argocd .config/argocd .config/openstack .gitcookies
    .docker/config.json .docker/contexts .config/containers/auth.json .snowsql .dbt .config/ngrok`),
  // Sockets through which a command could run outside.
  ...words(`.docker/run .docker/desktop .colima .lima .orbstack .rd .multipass .screen .emacs.d/server`),
  ...words(`.netrc .git-credentials .config/git/credentials .config/gh .config/hub .config/glab-cli .config/tea .subversion/auth .hgrc
    .pypirc .config/pypoetry .cargo/credentials .cargo/credentials.toml .gem/credentials .local/share/gem/credentials .bundle/config
    .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .nuget .config/NuGet .composer/auth.json
    .config/composer/auth.json .hex .pgpass .my.cnf .mylogin.cnf .authinfo .authinfo.gpg .msmtprc .fetchmailrc .mutt .smbcredentials`),
  ...words(`.mozilla .thunderbird .config/google-chrome .config/google-chrome-beta .config/chromium .config/vivaldi .config/BraveSoftware
    .config/microsoft-edge .config/opera .var/app snap .cache/mozilla .config/Slack .config/discord .config/Signal .config/Code
    .config/JetBrains .config/zed .config/io.datasette.llm .bitwarden-ssh-agent.sock
    .config/Cursor .config/VSCodium .vscode-server .Xauthority .ICEauthority .dbus .config/wandb .jupyter .ipython
    .config/configstore .env .bitcoin .ethereum .electrum .config/solana`),
  ...words(`.claude .claude.json .codex .gemini .config/opencode .local/share/opencode .local/state/opencode .cursor .windsurf .codeium
    .continue .copilot .config/github-copilot .aider.conf.yml .qwen .kimi .config/goose .local/share/goose .config/crush
    .local/share/crush .config/amp .local/share/amp .grok`),
  ...words(`.config/planfold .local/share/planfold .local/state/planfold .cache/planfold`),
  ...words(`.lesshst .viminfo .histfile .local/share/fish/fish_history .local/share/atuin .zsh_sessions`),
]

/** Also hidden in the home: `.bash_history`, `.python_history`, … */
export const isHistory = (name: string): boolean => /^\..*_history$/.test(name)

/** Shown without the lines that contain credentials, because package managers and git need the rest. */
export const CONFIG_PLACES =
  words(`.npmrc .yarnrc .yarnrc.yml .bunfig.toml .config/pnpm/rc .gitconfig .config/git/config .pip/pip.conf
  .config/pip/pip.conf .config/uv/uv.toml .condarc .cargo/config .cargo/config.toml`)

/**
 * Removes credentials: lines with such keys (`_authToken=`, `token =`, `password:`), npm's settings for a host (`//host/:…`), and users in
 * addresses (`https://me:word@host/` becomes `https://host/`; `ssh://git@host/` stays).
 */
export function withoutCredentials(text: string): string {
  return (
    text
      .split('\n')
      .filter(line => !NAMED.test(line) && !OF_A_HOST.test(line))
      .join('\n')
      // The address stays, or a package manager would use the public registry.
      .replace(USER_OF, '://')
  )
}

const NAMED =
  /(auth|token|passw(or)?d|passphrase|secret|username|credential|extraheader|smtppass|ident|api_?key)\w*["']?\s*[=:]/i
const OF_A_HOST = /^\s*["']?\/\/\S+:/
const USER_OF = /:\/\/(?!git@)[^\s/"'@]+@/g

function words(text: string): readonly string[] {
  return text.split(/\s+/)
}
