import { installLightning, lightningMissing } from '@penstock/servers/lightning-install.ts'

/** Once before the files of the suite: each of several that run side by side would build lnd anew. */
export default async function built(): Promise<void> {
  if ((await lightningMissing()) === undefined) await installLightning()
}
