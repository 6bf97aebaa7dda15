// The script of the page. Text from users becomes text nodes only.

const $ = (id) => document.getElementById(id);
const make = (tag, props = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), props);
  element.append(...children);
  return element;
};
const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
const signed = (value) => (value < 0 ? "\u2212" : "+") + Math.abs(value).toPrecision(3);
// What goes on is shown; what is done is told to screen readers only, because the page shows it elsewhere.
const showStatus = (text, done = false) => {
  $("status").textContent = text;
  $("status").classList.toggle("spoken", done);
};

// ---------------------------------------------------------------------------------------------- requests

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem("token", given);
  history.replaceState(null, "", location.pathname); // neither visible nor in the history
}

let dialog; // one for all requests that wait for a token
const readToken = () =>
  (dialog ??= new Promise((resolve) => {
    $("token-dialog").oncancel = (event) => event.preventDefault();
    $("token-dialog").querySelector("form").onsubmit = (event) => {
      event.preventDefault();
      sessionStorage.setItem("token", $("token").value);
      $("token-dialog").close();
      dialog = undefined;
      resolve();
    };
    $("token-dialog").showModal();
  }));

async function request(path, body) {
  for (let tries = 1; ; tries++) {
    const token = sessionStorage.getItem("token");
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const answer = await fetch(path, { method: body ? "POST" : "GET", body, headers }).catch(() => {
      throw new Error("the server can't be reached; is it still running?");
    });
    if (answer.ok) return answer.json();
    if (answer.status === 401) await readToken();
    else if (answer.status === 503 && tries < 20)
      await new Promise((wake) => setTimeout(wake, 1000 * (answer.headers.get("Retry-After") || 1)));
    else throw new Error((await answer.json().catch(() => ({}))).detail ?? `${answer.status} ${answer.statusText}`);
  }
}

async function explain(item, label) {
  const key = label ?? "";
  if (!item.answers.has(key)) {
    const form = new FormData();
    form.append("image", item.file, item.file.name);
    if (label !== undefined) form.append("class", label);
    const answer = await request("/api/explain", form);
    item.answers.set(key, answer).set(answer.explained, answer);
  }
  return item.answers.get(key);
}

// ------------------------------------------------------------------------------------------------ images

let model, shown, queue = Promise.resolve();

function showProblem(text) {
  const close = make("button", { type: "button", textContent: "✕", ariaLabel: "Dismiss" });
  const line = make("li", {}, make("span", { textContent: text }), close);
  close.onclick = () => line.remove();
  $("problems").append(line);
}

/** Classify images, one after the other, and show the first that can be read. */
function add(files) {
  let first = true;
  for (const file of files) {
    const item = { file, url: URL.createObjectURL(file), answers: new Map() };
    item.thumbnail = make("img", { src: item.url, alt: "" });
    item.caption = make("span", { textContent: "…" });
    item.share = make("span");
    item.button = make("button", { type: "button", title: file.name }, item.thumbnail, item.caption, item.share);
    item.button.onclick = () => show(item);
    const place = make("li", {}, item.button);
    $("images").append(place);
    queue = queue.then(async () => {
      showStatus(`Classifying ${file.name} …`);
      try {
        if (model && file.size > model.limits.bytes)
          throw new Error(`'${file.name}' is larger than ${model.limits.bytes / 2 ** 20} MB; shrink it`);
        await file.slice(0, 1).arrayBuffer().catch(() => {
          throw new Error(`'${file.name}' can't be read; is it a folder?`);
        });
        item.best = await explain(item);
        item.thumbnail.onerror = () => (item.thumbnail.src = item.url = item.best.image); // a format that browsers don't know
        if (item.thumbnail.complete && !item.thumbnail.naturalWidth) item.thumbnail.onerror();
        const { label, probability, unknown, reason } = item.best;
        item.caption.textContent = unknown ? "unknown" : label;
        item.share.textContent = unknown ? `${label}\u00a0?` : percent(probability);
        item.button.ariaLabel = `${file.name}: ${label}, ${percent(probability)}${unknown ? `, but ${reason}` : ""}`;
        showStatus(item.button.ariaLabel, true);
        if (first) show(item);
        first = false;
      } catch (error) {
        place.remove();
        showStatus("");
        showProblem(error.message);
      }
    });
  }
  $("files").value = "";
  $("clear").hidden = false;
}

$("clear").onclick = () => {
  queue = queue.then(() => {
    for (const { src } of $("images").querySelectorAll("img")) URL.revokeObjectURL(src);
    $("images").replaceChildren();
    $("problems").replaceChildren();
    $("answer").hidden = $("why").hidden = $("clear").hidden = true;
    $("empty").hidden = false;
    showStatus("Cleared");
    $("files").focus();
  });
};

function show(item) {
  if (!item.best) return;
  shown = item;
  for (const button of $("images").querySelectorAll("button")) button.ariaCurrent = String(button === item.button);
  $("answer").hidden = false;
  $("why").hidden = !item.best.atoms.length;
  $("empty").hidden = true;
  $("file").textContent = item.file.name;
  $("label").replaceChildren(item.best.label, " ", make("small", { textContent: percent(item.best.probability) }));
  $("reason").hidden = !item.best.unknown;
  $("reason").textContent = `This image is ${item.best.reason}. It may belong to none of the classes.`;
  const [height, width] = item.best.shape;
  for (const frame of document.querySelectorAll(".frame")) {
    frame.style.setProperty("--ratio", width / height);
    frame.classList.toggle("coarse", Math.max(height, width) < 100);
  }
  for (const id of ["photo", "before", "grey", "searched"]) {
    $(id).onerror = () => ($(id).src = item.best.image);
    $(id).src = item.best.deskewed && id !== "photo" ? item.best.image : item.url; // the evidence is for the deskewed image
  }
  $("photo").alt = $("searched").alt = item.file.name;
  $("find").hidden = item.best.classes.length <= 12;
  $("find").value = "";
  $("classes").replaceChildren(...item.best.classes.map(({ label, probability }) => choice(item, label, probability)));
  $("classes").scrollTop = 0;
  showEvidence(item, item.best);
}

function choice(item, label, probability) {
  const bar = make("i");
  bar.style.setProperty("--share", probability);
  const radio = make("input", { type: "radio", name: "class", value: label, checked: label === item.best.label });
  radio.onchange = async () => {
    $("answer").classList.add("waiting");
    try {
      const answer = await explain(item, label);
      if (shown === item && radio.checked) showEvidence(item, answer);
    } catch (error) {
      showProblem(error.message);
    }
    $("answer").classList.remove("waiting");
  };
  return make("label", {}, radio, make("b", { textContent: label }), make("span", { textContent: percent(probability) }), bar);
}

function showEvidence(item, answer) {
  $("map").src = answer.map;
  $("map").alt = `Evidence for ${answer.explained}: red for it, blue against it`;
  for (const element of document.querySelectorAll(".explained")) element.textContent = answer.explained;
  const channels = answer.channels.map(({ name, total }) => `${name} ${signed(total)}`).join(", ");
  $("score").textContent = `Score ${signed(answer.score)} = ${channels}, bias ${signed(answer.bias)}. ` +
    `The strongest pixel has a share of ${answer.largest.toPrecision(2)}.`;
  $("patches").replaceChildren();
  $("strongest").replaceChildren(...answer.atoms.map(atomButton));
  showStatus(`${item.file.name}: evidence for ${answer.explained}`, true);
}

function atomButton(atom) {
  const share = make("b", { className: atom.share > 0 ? "for" : "against", textContent: signed(atom.share) });
  const channel = make("span", { textContent: atom.channel });
  const learnt = make("span", { textContent: atom.learnt_from, title: `learnt from ${atom.learnt_from}` });
  const button = make("button", { type: "button", ariaPressed: "false" }, draw(atom), share, channel, learnt);
  button.ariaLabel = `Atom ${atom.atom} of ${atom.channel}, learnt from ${atom.learnt_from}, share ${signed(atom.share)}: show its patches`;
  const frame = () => $("patches").replaceChildren(...atom.patches.map((patch) => {
    const square = make("i");
    for (const [side, part] of Object.entries(patch)) square.style[side] = `${100 * part}%`;
    return square;
  }));
  const leave = () => $("strongest").querySelector("[aria-pressed=true]") ?? $("patches").replaceChildren();
  button.onmouseenter = button.onfocus = frame;
  button.onmouseleave = button.onblur = leave;
  button.onclick = () => {
    const on = button.ariaPressed === "false";
    for (const each of $("strongest").children) each.ariaPressed = String(on && each === button);
    frame();
  };
  return button;
}

function draw(atom) {
  if (atom.picture) return make("img", { src: atom.picture, alt: `atom ${atom.atom}` });
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 100");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `atom ${atom.atom}`);
  for (const { path, strength } of atom.strokes) {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    const style = { d: path, opacity: strength.toFixed(2), "stroke-width": (1 + 4 * strength).toFixed(1) };
    for (const [name, value] of Object.entries(style)) line.setAttribute(name, value);
    svg.append(line);
  }
  return svg;
}

$("wipe").oninput = () => $("answer").style.setProperty("--cut", `${$("wipe").value}%`);
$("find").oninput = () => {
  const wanted = $("find").value.toLowerCase();
  for (const label of $("classes").children) label.hidden = !label.querySelector("b").textContent.toLowerCase().includes(wanted);
};

// -------------------------------------------------------------------------------------------------- tabs

const tabs = [$("prediction-tab"), $("atoms-tab")];
function openTab(chosen) {
  for (const tab of tabs) {
    tab.ariaSelected = String(tab === chosen);
    tab.tabIndex = tab === chosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
  }
}
for (const tab of tabs) {
  tab.onclick = () => openTab(tab);
  tab.onkeydown = ({ key }) => {
    if (key !== "ArrowLeft" && key !== "ArrowRight") return;
    const other = tabs[1 - tabs.indexOf(tab)];
    openTab(other);
    other.focus();
  };
}

// ----------------------------------------------------------------------------------------------- sources

$("files").onchange = () => add([...$("files").files]);
addEventListener("paste", (event) => add([...event.clipboardData.files]));
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("over");
});
addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  add([...event.dataTransfer.files]);
});

let snapshots = 0;
$("camera").onclick = async () => {
  try {
    if (!navigator.mediaDevices) throw new Error("browsers give cameras to pages on this machine or over https only");
    $("video").srcObject = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment" } });
    $("snapshot").showModal();
    await $("video").play();
  } catch (error) {
    showProblem(`The camera can't be used: ${error.message}`);
  }
};
$("take").onclick = () => {
  const { videoWidth: width, videoHeight: height } = $("video");
  const canvas = make("canvas", { width, height });
  canvas.getContext("2d").drawImage($("video"), 0, 0);
  canvas.toBlob((blob) => blob && add([new File([blob], `snapshot ${++snapshots}.png`, { type: blob.type })]));
  $("snapshot").close();
};
$("stop").onclick = () => $("snapshot").close();
$("snapshot").onclose = () => $("video").srcObject?.getTracks().forEach((track) => track.stop());

// ------------------------------------------------------------------------------------------------- atoms

let channel, layer = 1;

async function showAtoms(start = 0) {
  const query = new URLSearchParams({ channel, layer, start, count: 48 });
  if (layer === 1 && $("learnt").value) query.set("class", $("learnt").value);
  const { total, atoms, note } = await request(`/api/atoms?${query}`);
  $("note").textContent = note;
  if (start === 0) $("atoms").replaceChildren();
  const drawn = atoms.filter(({ strokes, picture }) => strokes.length || picture);
  $("atoms").append(...drawn.map(tile));
  const n = $("atoms").children.length;
  const which = layer === 1 ? "the largest weights first" : "the most used first, each with layer-1 atoms that use it";
  $("count").textContent = drawn.length ? `${n === total ? `All ${n}` : `${n} of ${total}`} atoms, ${which}` : `${total} atoms; draw their patches with ddlcn atoms --data`;
  $("more").hidden = n === total || !drawn.length;
}

function tile(atom) {
  const captioned = (each, text) => make("figure", {}, draw(each), make("figcaption", { textContent: text, title: text.replace("\n", ": ") }));
  const name = atom.learnt_from === null ? `${atom.atom}` : `${atom.atom}\n${atom.learnt_from}`;
  const others = atom.used_by.map(([weight, other]) => captioned(other, `${other.atom}\n${weight < 0 ? "\u2212" : "+"}${Math.abs(weight).toFixed(2)}`));
  return make("div", { className: "tile" }, captioned(atom, name), ...others);
}

const tryAtoms = (start) => showAtoms(start).catch((error) => showProblem(error.message));
$("more").onclick = () => tryAtoms($("atoms").children.length);
$("learnt").onchange = () => tryAtoms();

const press = (buttons, text) => {
  for (const button of buttons.children) button.ariaPressed = String(button.textContent === text);
};
const choiceButton = (text, onclick) => make("button", { type: "button", className: "button", textContent: text, onclick });

function chooseLayer(number) {
  layer = number;
  press($("layers"), `Layer ${layer}`);
  $("of").hidden = layer > 1;
  tryAtoms();
}

function chooseChannel(name) {
  channel = name;
  press($("channels"), name);
  $("layers").replaceChildren(...model.atoms[name].map((_, i) => choiceButton(`Layer ${i + 1}`, () => chooseLayer(i + 1))));
  chooseLayer(1);
}

// ------------------------------------------------------------------------------------------------- start

try {
  model = await request("/api/model");
  document.title = `${model.name} – ddlcn serve`;
  $("name").textContent = model.name;
  const names = Object.keys(model.atoms);
  const channels = model.channels.map(({ name }) => (model.atoms[name] ? `${name} (${model.atoms[name].join(" + ")} atoms)` : name));
  const networks = [...new Set(model.channels.map(({ descriptor }) => descriptor.network).filter(Boolean))];
  const limits = model.false_alarms === null ? ["can't recognise unknown images"] : [];
  const facts = [`${model.classes.length} classes`, `trained on ${model.n_train} images`, channels.join(", "), ...networks, ...limits];
  $("about").textContent = facts.join(" · ");
  $("network").hidden = !networks.length;
  $("limits").textContent = `Up to ${model.limits.bytes / 2 ** 20} MB and ${Math.round(model.limits.pixels / 1e6)} million pixels each, JPEGs up to 100 million.`;
  $("version").textContent = `ddlcn ${model.version}`;
  $("learnt").append(...model.classes.map((name) => make("option", { textContent: name, value: name })));
  if (names.length > 1) $("channels").replaceChildren(...names.map((name) => choiceButton(name, () => chooseChannel(name))));
  if (names.length) chooseChannel(names[0]);
} catch (error) {
  showProblem(error.message);
}
