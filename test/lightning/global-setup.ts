import { installLightning, explainMissingLightning } from '@penstock/servers/lightning-install.ts'

/** Installs lnd and btcd once before all test files. Otherwise, several parallel test files would each build lnd. */
export default async function installBeforeSuite(): Promise<void> {
  if ((await explainMissingLightning()) === undefined) await installLightning()
}
