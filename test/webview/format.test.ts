import { strict as assert } from "node:assert";
import {
  deltaGib,
  factorPercent,
  fileName,
  gib,
  gibUnit,
  integer,
  languageTag,
  parameters,
  percent,
  shortDevice,
} from "../../webview-ui/model/format";

const GIB = 2 ** 30;

describe("webview numbers", () => {
  it("shows bytes as GiB with one decimal", () => {
    assert.equal(gib(41.24 * GIB), "41.2");
    assert.equal(gib(1024 * GIB), "1,024.0");
    assert.equal(gib(0), "0.0");
    assert.equal(gibUnit(GIB), "1.0\u00a0GiB");
  });

  it("does not call something nothing", () => {
    assert.equal(gib(1), "<\u00a00.1");
    assert.equal(gib(0.04 * GIB), "<\u00a00.1");
    assert.equal(gib(0.05 * GIB), "0.1");
  });

  it("shows differences with a sign and a true minus", () => {
    assert.equal(deltaGib(3.3 * GIB), "+3.3");
    assert.equal(deltaGib(-20.1 * GIB), "−20.1");
    assert.equal(deltaGib(0.01 * GIB), "±0.0");
    assert.equal(deltaGib(-0.01 * GIB), "±0.0");
    assert.equal(gib(-2 * GIB), "−2.0");
  });

  it("shows shares and factors in whole percent, spaced as the language does", () => {
    assert.equal(percent(0.614), "61\u00a0%");
    assert.equal(percent(0.001), "<\u00a01\u00a0%");
    assert.equal(percent(0), "0\u00a0%");
    assert.equal(percent(0.614, "zh-cn"), "61%");
    assert.equal(factorPercent(1.3), "+30\u00a0%");
    assert.equal(factorPercent(0.94), "−6\u00a0%");
    assert.equal(factorPercent(1.001), "±0\u00a0%");
  });

  it("shortens counts and names", () => {
    assert.equal(parameters(1_235_814_400), "1.24\u00a0B");
    assert.equal(parameters(410_000_000), "410\u00a0M");
    assert.equal(parameters(12), "12");
    assert.equal(integer(8192), "8,192");
    assert.equal(shortDevice("NVIDIA GeForce RTX 4090"), "RTX 4090");
    assert.equal(shortDevice("AMD Instinct MI300X"), "MI300X");
    assert.equal(shortDevice("24GB"), "24GB");
    assert.equal(fileName("file:///a/b%20c.yaml"), "b c.yaml");
    assert.equal(fileName("file:///a/100%.yaml"), "100%.yaml");
  });

  it("reads every Chinese tag as Chinese and the rest as English", () => {
    assert.equal(languageTag("zh-cn"), "zh-CN");
    assert.equal(languageTag("zh-Hans"), "zh-CN");
    assert.equal(languageTag("de"), "en");
    assert.equal(languageTag(""), "en");
  });
});
